// The model behind the coding agents: lists a folder, writes a file, reads it back and reports what it says, with whatever
// tools the agent offers.
import type { Answer, OfferedTool, Turn } from '../../test/support/gateway/any-api-provider.ts';

type Json = Readonly<Record<string, unknown>>;

export const fileName = 'note.txt';
export const fileText = 'written by the agent';
/** In the folder from the beginning: the result of the first step has to show it. */
export const listedName = 'readme.md';

/** Tools for each step, the best first; the shells run a command. The glob of opencode found no files here. */
const shells = ['bash', 'run_shell_command', 'exec_command', 'shell', 'shell_command', 'local_shell'];
const steps = [
  { tools: ['list_directory', 'list', ...shells, 'glob'], command: () => 'ls -a' },
  { tools: ['write_file', 'write', ...shells], command: () => `printf '%s' '${fileText}' > ${fileName}` },
  { tools: ['read_file', 'read', ...shells], command: () => `cat ${fileName}` },
] as const;

/** `folder` is where the agent works. */
export function agentModel(folder: string): (turn: Turn) => Answer {
  return ({ tools, results }) => {
    const step = steps[results.length];
    // Agents also request a title or a summary, without tools.
    if (!step || tools.length === 0) {
      const isListed = results[0] === undefined || results[0].includes(listedName);
      const text = isListed ? `The file says: ${results[2] ?? 'nothing yet'}` : 'The folder was not listed.';
      return { reasoning: '', text, call: undefined };
    }
    const tool = step.tools
      .map((name) => tools.find((each) => each.name === name))
      .find((each) => each !== undefined);
    if (!tool)
      return {
        reasoning: '',
        text: `No tool among ${tools.map(({ name }) => name).join(', ')}.`,
        call: undefined,
      };
    const input = inputOf(tool, folder, step.command());
    return { reasoning: '', text: `Step ${results.length + 1}.`, call: { name: tool.name, input } };
  };
}

/** By the names that agents give to the fields of their tools. */
function inputOf({ name, schema }: OfferedTool, folder: string, command: string): Json {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Json>>;
  const required = (schema['required'] ?? []) as readonly string[];
  const isFolder = name === 'list_directory' || name === 'list' || name === 'glob';
  const values: Json = {
    path: isFolder ? folder : `${folder}/${fileName}`,
    file_path: `${folder}/${fileName}`,
    filePath: `${folder}/${fileName}`,
    absolute_path: `${folder}/${fileName}`,
    content: fileText,
    pattern: '*',
    cmd: command,
    command: properties['command']?.['type'] === 'array' ? ['bash', '-lc', command] : command,
    description: 'a step of the test',
    is_background: false,
  };
  const given = ['path', 'file_path', 'filePath', 'absolute_path', 'content', 'pattern', 'cmd', 'command'];
  const used = Object.keys(properties).filter((each) => required.includes(each) || given.includes(each));
  return Object.fromEntries(used.flatMap((each) => (each in values ? [[each, values[each]]] : [])));
}
