// Bounds the number of values in a JSON text before it is parsed: parsing and checking millions of them blocks the server.

/** Ten thousand mentions of a document have about 60,000. */
export const maxJsonValues = 100_000;

const [quote, comma, openBracket, openBrace] = Array.from('",[{', (sign) => sign.charCodeAt(0));

/** Whether it has more values than `max`. Strings are skipped, so that their length hardly counts; it need not be valid. */
export function hasMoreValues(json: string, max: number): boolean {
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const sign = json.charCodeAt(at);
    if (sign === quote) at = endOfString(json, at);
    else if ((sign === comma || sign === openBracket || sign === openBrace) && ++values > max) return true;
  }
  return false;
}

function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end < 0 ? json.length : end;
}

/** An odd number of backslashes precedes it. */
function isEscaped(json: string, at: number): boolean {
  let before = at;
  while (json[before - 1] === '\\') before--;
  return (at - before) % 2 === 1;
}
