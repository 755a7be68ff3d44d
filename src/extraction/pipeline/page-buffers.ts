// Where pages lie from their arrival until they are settled: memory that all threads see and that is used again.
//
// A page is a megabyte or so. Left to the garbage collector, pages that wait keep apart what is thrown away between
// them, and the process grows for as long as it runs; handed to a thread, each would be copied once more.

/** Smaller buffers are not worth telling apart. */
const smallestStep = 16 * 1024;

export class PageBuffers {
  readonly #mostFree: number;
  /** The one that was used last is the last. */
  readonly #free: SharedArrayBuffer[] = [];
  #freeBytes = 0;

  /** At most `mostFree` bytes are kept for pages to come. */
  constructor(mostFree: number) {
    this.#mostFree = mostFree;
  }

  /** A copy of `bytes` that threads can read without another one. It holds until it is released. */
  hold(bytes: Uint8Array): Uint8Array {
    const held = new Uint8Array(this.#take(bytes.byteLength), 0, bytes.byteLength);
    held.set(bytes);
    return held;
  }

  /** What `hold` gave, once: nobody may look into it any more. */
  release({ buffer }: Uint8Array): void {
    if (!(buffer instanceof SharedArrayBuffer)) throw new TypeError('these bytes were never held');
    this.#free.push(buffer);
    this.#freeBytes += buffer.byteLength;
    while (this.#freeBytes > this.#mostFree) this.#freeBytes -= this.#free.shift()?.byteLength ?? 0;
  }

  #take(size: number): SharedArrayBuffer {
    const room = roomFor(size);
    const index = this.#free.findLastIndex(({ byteLength }) => byteLength >= size && byteLength <= 2 * room);
    const [free] = index < 0 ? [] : this.#free.splice(index, 1);
    if (!free) return new SharedArrayBuffer(room);
    this.#freeBytes -= free.byteLength;
    return free;
  }
}

/** A little more than is needed, a quarter at most: the next page is rarely of exactly the same size. */
function roomFor(size: number): number {
  const step = Math.max(smallestStep, 2 ** (Math.floor(Math.log2(Math.max(size, 1))) - 2));
  return Math.max(1, Math.ceil(size / step)) * step;
}
