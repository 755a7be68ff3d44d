// Texts of others at the end of a sentence of ours.

/** With one full stop at the end, whether it had one or not. */
export const asSentence = (text: string): string => `${text.trimEnd().replace(/\.$/, '')}.`;
