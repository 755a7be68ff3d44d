// Where webhooks may go.

const longestUrl = 2_000;

/** What is wrong with the address; null when nothing is. */
export function webhookUrlProblem(text: string): string | null {
  if (text.length > longestUrl) return `must have at most ${longestUrl} characters`;
  // The parser drops spaces at both ends, tabs and line breaks: what is called would not be what is shown.
  const url = /[\s\p{C}]/u.test(text) ? null : URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'must be an http or https address';
  if (url.username !== '' || url.password !== '')
    return 'must hold no user name or password: webhooks are signed instead';
  return url.hash === '' ? null : 'must hold no fragment (#): it is never sent';
}
