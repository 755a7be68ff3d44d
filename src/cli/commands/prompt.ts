// headworks prompt: sends a prompt and streams the response.
import type { Command } from 'commander';
import { CoreError, HeadworksError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';

interface PromptOptions {
  readonly model: string;
  readonly system?: string;
}

export function registerPrompt(program: Command, host: CommandHost): void {
  const command = program
    .command('prompt')
    .argument('<text>', 'what to ask; - reads it from standard input')
    .description('send a prompt to the best available model; prints the response and the model used')
    .option('--model <names>', 'auto, a name (tried first), or names separated by commas', 'auto')
    .option('--system <text>', 'how the model should behave');
  examples(command, [
    'headworks prompt "Name three rivers."',
    'headworks prompt --model groq/llama-3.3-70b-versatile "Name three rivers."',
    'cat notes.txt | headworks prompt -',
  ]);
  act<PromptOptions>(host, command, ask);
}

async function ask(
  session: CliSession,
  options: PromptOptions,
  [text = '']: readonly string[],
): Promise<ExitCode> {
  const prompt = text === '-' ? await session.io.readStdin() : text;
  if (prompt.trim() === '')
    throw new CoreError('INPUT_INVALID', 'There is nothing to ask: the prompt is empty.');
  const body = {
    model: options.model,
    stream: true,
    messages: [
      ...(options.system === undefined ? [] : [{ role: 'system', content: options.system }]),
      { role: 'user', content: prompt },
    ],
  };
  return session.withClient(async (client) => {
    const { headers, data } = await client.stream('/v1/chat/completions', body, session.io.signal);
    return stream(session, headers, data);
  });
}

async function stream(
  { out, io }: CliSession,
  headers: Readonly<Record<string, string>>,
  data: AsyncIterable<string>,
): Promise<ExitCode> {
  let answer = '';
  for await (const text of data) {
    if (text === '[DONE]') break;
    const piece = contentOf(text);
    answer += piece;
    if (!out.isJson) io.stdout.write(io.isTty.stdout ? withoutControls(piece) : piece);
  }
  const model = headers['x-headworks-model'] ?? 'unknown';
  const attempts = Number(headers['x-headworks-attempts'] ?? 1);
  const isFallback = headers['x-headworks-fallback'] === 'true';
  if (out.isJson) out.json({ response: answer, model, attempts, fallback_used: isFallback });
  else {
    out.line();
    out.note(`— ${model}${attempts > 1 ? `, after ${attempts} attempts` : ''}`);
  }
  return exitCodes.ok;
}

/** Responses may contain terminal escape sequences. */
function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: unknown } }[];
  readonly error?: { readonly headworks_code?: string; readonly message?: string };
}

/** What the piece says. An error in the middle ends the answer as what it is: broken off. */
function contentOf(text: string): string {
  const chunk = JSON.parse(text) as Chunk;
  if (chunk.error)
    throw new HeadworksError(
      chunk.error.headworks_code ?? 'GATEWAY_STREAM_INTERRUPTED',
      chunk.error.message ?? 'The answer broke off.',
    );
  const content = chunk.choices?.[0]?.delta?.content;
  return typeof content === 'string' ? content : '';
}
