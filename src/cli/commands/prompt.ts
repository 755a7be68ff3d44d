// headworks prompt: sends a prompt and streams the response.
import { CoreError, HeadworksError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';

interface PromptOptions {
  readonly model: string;
  readonly system?: string;
}

export function register(command: CliCommand): void {
  command
    .argument('<text>', 'the prompt; - reads it from standard input')
    .option(
      '--model <names>',
      'model to try first, or several separated by commas; auto: the best one',
      'auto',
    )
    .option('--system <text>', 'system prompt');
  command.examples([
    'headworks prompt "Name three rivers."',
    'headworks prompt --model groq/llama-3.3-70b-versatile "Name three rivers."',
    'cat notes.txt | headworks prompt -',
  ]);
  command.run<PromptOptions>(sendPrompt);
}

async function sendPrompt(
  session: CliSession,
  options: PromptOptions,
  [text = '']: readonly string[],
): Promise<ExitCode> {
  const prompt = text === '-' ? await session.io.readStdin() : text;
  if (prompt.trim() === '') throw new CoreError('INPUT_INVALID', 'The prompt is empty.');
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
    return printStream(session, headers, data);
  });
}

async function printStream(
  { out, io }: CliSession,
  headers: Readonly<Record<string, string>>,
  data: AsyncIterable<string>,
): Promise<ExitCode> {
  let response = '';
  for await (const text of data) {
    if (text === '[DONE]') break;
    const piece = contentOf(text);
    response += piece;
    if (!out.isJson) io.stdout.write(io.isTty.stdout ? withoutControls(piece) : piece);
  }
  const model = headers['x-headworks-model'] ?? 'unknown';
  const attempts = Number(headers['x-headworks-attempts'] ?? 1);
  const isFallback = headers['x-headworks-fallback'] === 'true';
  if (out.isJson) out.json({ response, model, attempts, fallback_used: isFallback });
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

/** The text of the chunk. Throws the error that a chunk reports: the response is incomplete then. */
function contentOf(text: string): string {
  const chunk = JSON.parse(text) as Chunk;
  if (chunk.error)
    throw new HeadworksError(
      chunk.error.headworks_code ?? 'GATEWAY_STREAM_INTERRUPTED',
      chunk.error.message ?? 'The response was interrupted.',
    );
  const content = chunk.choices?.[0]?.delta?.content;
  return typeof content === 'string' ? content : '';
}
