// One log line for people: time, level, message, then fields as key=value.

const colours: Readonly<Record<string, string>> = {
  debug: '\u001b[90m',
  info: '\u001b[36m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
};
const plain = '\u001b[0m';

/** From a JSON line to a readable one. What is no JSON (any more) passes as it is. */
export function prettyLine(line: string, colour: boolean): string {
  const { time, level, msg, ...fields } = parse(line) ?? { msg: line.trimEnd() };
  const label = typeof level === 'string' ? level.toUpperCase().padEnd(5) : '';
  const shownLevel = colour && typeof level === 'string' ? `${colours[level] ?? ''}${label}${plain}` : label;
  const shownTime = typeof time === 'string' ? time.slice(11, 23) : '';
  const parts = [shownTime, shownLevel, visible(String(msg)), ...Object.entries(fields).map(show)];
  return `${parts.filter((part) => part !== '').join(' ')}\n`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function show([key, value]: readonly [string, unknown]): string {
  const text = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return `${visible(key)}=${visible(text)}`;
}

/** Control characters could forge lines or drive the terminal. */
function visible(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => JSON.stringify(character).slice(1, -1));
}
