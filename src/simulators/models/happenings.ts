// What happened, sentence by sentence, by the first word that gives it away.

export interface Happening {
  readonly category: string;
  readonly sentence: string;
  /** At most 25 words of it, as they stand in the text. */
  readonly quote: string;
  /** `2026-11-20`, if the sentence names a day so. */
  readonly day: string | null;
}

/** Somebody speaks of themselves. */
export const firstPerson = /\b(?:I|I'll|I've|we|We)\b/;

const cues: readonly (readonly [category: string, cue: RegExp])[] = [
  ['QualityRisk', /\b(?:contradicts?|do(?:es)? not match|wrong|risk|counted twice|worried|nobody owns)\b/i],
  ['Decision', /\b(?:decided|agreed|approved|settled)\b/i],
  ['Commitment', /\b(?:will|promised|promises|I'll|takes over)\b/i],
  ['Change', /\b(?:changed|renamed|moved|switched|replaced|is now)\b/i],
  ['Execution', /\b(?:finished|shipped|published|fixed|rebuilt|reconciled)\b/i],
  ['Feedback', /\b(?:asked|asks|requested|would like|wants)\b/i],
  ['Stakeholder', /\b(?:board|auditors?|investors?)\b/i],
];

const mostWords = 25;

export function happenings(text: string): readonly Happening[] {
  return sentencesOf(text).flatMap((raw) => {
    const found = cues.find(([, cue]) => cue.test(raw));
    if (!found) return [];
    return [
      {
        category: found[0],
        sentence: raw.replaceAll(/\s+/g, ' '),
        quote: firstWords(raw),
        day: /\b\d{4}-\d{2}-\d{2}\b/.exec(raw)?.[0] ?? null,
      },
    ];
  });
}

const mailHead = /^\s*(?:From|To|Cc|Date|Subject): /;

/** Lines that are lists or heads stand for themselves; a dot behind an initial ends nothing. */
function sentencesOf(text: string): readonly string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*#]|\w[\w. [\]-]*:))|(?<=[^\s.][a-z\d)"]{1,}[.!?])\s+(?=[\p{Lu}"])/u)
    .filter((part) => !mailHead.test(part))
    .map((part) => part.replace(/^\s*[-*#]+\s*/, '').trim())
    .filter((part) => part.split(/\s+/).length >= 4);
}

const firstWords = (text: string): string =>
  new RegExp(`^(?:\\S+\\s+){0,${mostWords - 1}}\\S+`).exec(text)?.[0] ?? text;
