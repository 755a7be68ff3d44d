// status: how the server is, as an operator would ask.
import { z } from 'zod';
import { cut } from '../bounds.ts';
import { errorText, unforeseen } from '../error-text.ts';
import { maybe, text } from '../fields.ts';
import type { ToolContext } from '../tool.ts';
import { defineTool } from '../tool.ts';

const mostRows = 50;
const longestMessage = 500;

const check = z.object({
  name: text,
  state: text,
  detail: text,
  remedy: maybe.describe('What to do about it.'),
});
const alert = z.object({ name: text, severity: text, state: text, message: text, since: text });
const jobs = z.object({ name: text, state: text, count: z.number() });
const kind = z.object({ kind: text, open: z.number() });

const parts = {
  doctor: { path: '/api/v1/doctor', answer: z.object({ status: text, checks: z.array(check) }) },
  alerts: { path: '/api/v1/alerts', answer: z.object({ alerts: z.array(alert) }) },
  jobs: { path: '/api/v1/jobs/counts', answer: z.object({ counts: z.array(jobs) }) },
  ledger: { path: '/api/v1/ledger/kinds', answer: z.object({ kinds: z.array(kind) }) },
};

export const status = defineTool({
  name: 'status',
  title: 'How is the server?',
  description:
    'Health of the whole server: every check with its remedy, alerts, background jobs by state, and how much is open in the ' +
    'ledger. Use it for "is everything all right", and before looking for the cause of something that is missing.',
  access: 'admin',
  isOfSpace: false,
  effect: 'reads',
  input: {},
  output: {
    status: maybe.describe(
      'ok, warning or problem: that of the worst check; null when the checks could not be asked.',
    ),
    checks: z.array(check).describe('Those that are not ok first.'),
    alerts: z.array(alert),
    jobs: z.array(jobs),
    open_degradations: z.array(kind).describe('Open rows of the ledger by kind; look at them with ledger.'),
    note: maybe.describe('What could not be asked, and why; null when all was.'),
  },
  async run(_input, context) {
    const [doctor, alerts, counts, kinds] = await Promise.all([
      ask(parts.doctor, context),
      ask(parts.alerts, context),
      ask(parts.jobs, context),
      ask(parts.ledger, context),
    ]);
    const failures = [doctor, alerts, counts, kinds].flatMap(({ failure }) => failure ?? []);
    if (failures.length === Object.keys(parts).length) throw failures[0]?.error;
    const checks = doctor.answer?.checks.map((each) => ({
      ...each,
      detail: cut(each.detail, longestMessage),
    }));
    return {
      status: doctor.answer?.status ?? null,
      checks: (checks ?? [])
        .sort((a, b) => Number(a.state === 'ok') - Number(b.state === 'ok'))
        .slice(0, mostRows),
      alerts: (alerts.answer?.alerts ?? []).slice(0, mostRows),
      jobs: (counts.answer?.counts ?? []).slice(0, mostRows),
      open_degradations: (kinds.answer?.kinds ?? []).filter(({ open }) => open > 0).slice(0, mostRows),
      note: failures.length === 0 ? null : failures.map(sentence).join(' '),
    };
  },
});

interface Part<Answer> {
  readonly path: string;
  readonly answer: z.ZodType<Answer>;
}

interface Failure {
  readonly path: string;
  readonly error: unknown;
}

/** A part that cannot be asked costs itself only: the others are wanted most when something is wrong. */
async function ask<Answer>(
  { path, answer }: Part<Answer>,
  { api, signal }: ToolContext,
): Promise<{ readonly answer?: Answer; readonly failure?: Failure }> {
  try {
    return { answer: answer.parse(await api.call('GET', path, { signal })) };
  } catch (error) {
    signal.throwIfAborted();
    return { failure: { path, error } };
  }
}

const sentence = ({ path, error }: Failure): string => `${path}: ${errorText(error) ?? unforeseen}`;
