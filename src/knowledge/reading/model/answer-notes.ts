// What of an answer was rejected, in sentences that repeat nothing of it.

const mostNotes = 50;

export class Notes {
  readonly #notes: string[] = [];
  #more = 0;

  add(note: string): void {
    if (this.#notes.length < mostNotes) this.#notes.push(note);
    else this.#more++;
  }

  list(): readonly string[] {
    return this.#more === 0 ? this.#notes : [...this.#notes, `${this.#more} more were rejected.`];
  }
}
