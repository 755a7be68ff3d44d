// Reads with a model of the gateway: one question, one repair of an unusable answer, no retries.
import type { IdSource } from '../../../core/index.ts';
import { abortable, findJson, messageOf } from '../../../core/index.ts';
import { KnowledgeError } from '../../errors.ts';
import type { LanguageModel, Reader, Reading, ReadingTask } from '../../ports.ts';
import { readingSchema } from './answer-schema.ts';
import { readAnswer } from './reading-answer.ts';
import { SaidInDocuments } from '../../text/said-in.ts';
import type { Messages } from './reading-prompt.ts';
import { answerTokens, readingPrompt, repairPrompt } from './reading-prompt.ts';

/** In characters. What is longer is no answer to what was asked, and is not searched for one. */
const longestAnswer = 2_000_000;

/** `read` fails with KNOWLEDGE_READING_FAILED, or with the signal's reason when that aborts. */
export function createModelReader(model: LanguageModel, ids: IdSource): Reader {
  const documents = new SaidInDocuments();
  const ask = (task: ReadingTask, messages: Messages, signal: AbortSignal) =>
    askModel({ model, ids, documents }, task, messages, signal);
  return {
    method: 'model',
    read: async (task, signal) => {
      const asked = readingPrompt(task);
      const first = await ask(task, asked, signal);
      if ('reading' in first) return first.reading;
      const again = repairPrompt(asked, first.answer, first.problem);
      const second = await ask(task, again, signal);
      if ('reading' in second) return second.reading;
      throw new KnowledgeError(
        'KNOWLEDGE_READING_FAILED',
        `The model's answer could not be used, and neither could its repair: ${second.problem} Try a larger model.`,
        { details: { model: second.model, problem: second.problem } },
      );
    },
  };
}

type Asked =
  | { readonly reading: Reading }
  | { readonly answer: string; readonly problem: string; readonly model: string };

interface AskParts {
  readonly model: LanguageModel;
  readonly ids: IdSource;
  readonly documents: SaidInDocuments;
}

async function askModel(
  { model, ids, documents }: AskParts,
  task: ReadingTask,
  messages: Messages,
  signal: AbortSignal,
): Promise<Asked> {
  const { text, model: name } = await complete(model, {
    requestId: ids.uuid(),
    caller: task.caller,
    messages,
    temperature: 0,
    maxTokens: answerTokens.most,
    json: true,
    schema: readingSchema,
    signal,
  });
  const unusable = (problem: string): Asked => ({
    answer: typeof text === 'string' ? text : '',
    problem,
    model: name,
  });
  if (typeof text !== 'string') return unusable('It is no text.');
  if (text.length > longestAnswer) return unusable(`It has ${text.length} characters.`);
  const found = findJson(text, longestAnswer);
  if (!found) return unusable('It holds no JSON.');
  const reading = readAnswer(found.value, task, documents.in(task));
  return reading ? { reading } : unusable('It has neither "mentions" nor "events".');
}

/** A model that does not listen to its signal is left behind. */
async function complete(
  model: LanguageModel,
  request: Parameters<LanguageModel['complete']>[0],
): ReturnType<LanguageModel['complete']> {
  request.signal.throwIfAborted();
  try {
    return await abortable(model.complete(request), request.signal);
  } catch (cause) {
    request.signal.throwIfAborted();
    throw new KnowledgeError('KNOWLEDGE_READING_FAILED', `No model read the chunk: ${messageOf(cause)}`, {
      isRetryable: true,
      cause,
    });
  }
}
