// The commands that a page of the docs shows, with the output it shows for each.

export interface DocCommand {
  /** Line of the page. */
  readonly line: number;
  readonly text: string;
  /** Lines of output that the page shows after the command; null when it shows none. */
  readonly output: readonly string[] | null;
}

export interface DocBlock {
  readonly line: number;
  /** Why the block cannot be executed by the tests: `<!-- not executed: REASON -->` above it. */
  readonly notExecuted: string | null;
  readonly commands: readonly DocCommand[];
}

const fence = /^( *)```(\S*)\s*$/;
const marker = /^ *<!-- not executed: (.+?) -->\s*$/;

interface Fenced {
  readonly line: number;
  readonly language: string;
  readonly above: string;
  readonly lines: readonly string[];
}

/** Every block of code with its language. */
export function* fencedBlocks(text: string): Generator<Fenced> {
  const lines = text.split('\n');
  for (let index = 0; index < lines.length; index++) {
    const [, indent = '', language = ''] = fence.exec(lines[index] ?? '') ?? [];
    if (!fence.test(lines[index] ?? '')) continue;
    const end = lines.findIndex((line, at) => at > index && /^ *```\s*$/.test(line));
    const inside = lines.slice(index + 1, end === -1 ? undefined : end);
    let above = index - 1;
    while (above > 0 && lines[above]?.trim() === '') above -= 1;
    yield {
      line: index + 1,
      language,
      above: lines[above] ?? '',
      lines: inside.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)),
    };
    index = end === -1 ? lines.length : end;
  }
}

/** Blocks in `sh` (commands) and `console` (commands after "$ ", each followed by its output), in order. */
export function readDocBlocks(text: string): readonly DocBlock[] {
  return [...fencedBlocks(text)]
    .filter(({ language }) => language === 'sh' || language === 'console')
    .map(({ line, language, above, lines }) => ({
      line,
      notExecuted: marker.exec(above)?.[1] ?? null,
      commands: language === 'sh' ? shellCommands(lines, line + 1) : sessionCommands(lines, line + 1),
    }));
}

function shellCommands(lines: readonly string[], first: number): readonly DocCommand[] {
  const commands: DocCommand[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = first + index;
    let text = lines[index] ?? '';
    while (text.endsWith('\\') && index + 1 < lines.length) text += `\n${lines[++index] ?? ''}`;
    if (text.trim() !== '' && !text.trimStart().startsWith('#')) commands.push({ line, text, output: null });
  }
  return commands;
}

function sessionCommands(lines: readonly string[], first: number): readonly DocCommand[] {
  const commands: { line: number; text: string; output: string[] }[] = [];
  for (let index = 0; index < lines.length; index++) {
    const text = lines[index] ?? '';
    const last = commands.at(-1);
    if (text.startsWith('$ ')) commands.push({ line: first + index, text: text.slice(2), output: [] });
    else if (last?.output.length === 0 && last.text.endsWith('\\')) last.text += `\n${text}`;
    else last?.output.push(text);
  }
  return commands;
}

/** Blocks that show commands in a way that the tests would not execute. */
export function blockProblems(text: string): readonly string[] {
  return [...fencedBlocks(text)].flatMap(({ line, language, lines }) => {
    const isSession = lines.some((each) => each.startsWith('$ '));
    if (isSession && language !== 'console')
      return [`line ${line}: a block with commands after "$ " is marked as \`\`\`console`];
    if (language === 'console' && !lines[0]?.startsWith('$ '))
      return [`line ${line}: a \`\`\`console block starts with a command after "$ "`];
    if (language === '' && lines.some((each) => /^(?:headworks|npm|npx|node|curl) /.test(each)))
      return [`line ${line}: a block with commands is marked as \`\`\`sh`];
    return [];
  });
}
