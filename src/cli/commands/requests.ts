// headworks requests: the log of requests to AI models.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import { requestsApi } from '../../api/requests.ts';
import { CoreError } from '../../core/index.ts';
import { formatUsd } from '../../core/text.ts';
import type { CliCommand } from '../command.ts';
import { commandFor } from '../derive.ts';
import { cut, formatDuration, printable } from '../output.ts';
import { keyNamed } from './keys.ts';

/** Callers may send anything as a name; without a terminal nothing else limits the width of the list. */
const maxNameWidth = 60;

export function register(group: CliCommand): void {
  commandFor(group, requestsApi.list, {
    name: 'list',
    isDefault: true,
    flags: {
      limit: { default: 50 },
      status: { description: 'only requests that ended like this; rejected: no model was called' },
    },
    options: [new Option('--key <key>', 'only of the gateway key with this name or id').conflicts('caller')],
    examples: [
      'headworks requests list --status failed --after 1042',
      'headworks requests list --key laptop --since 2026-03-01T00:00:00Z --json',
    ],
    resolve: async ({ query }, { client, own }) => {
      if (typeof own['key'] !== 'string') return {};
      const { keys } = await callApi(client, 'GET /api/v1/keys');
      return { query: { ...query, caller: `key:${keyNamed(keys, own['key'], 'headworks keys').id}` } };
    },
    print: ({ out }, { requests, next }) => {
      out.list(requests, 'There are no such requests in this period.', [
        'id',
        'at',
        'caller',
        'api',
        ['requested', ({ requested_model: name }) => cut(name, maxNameWidth)],
        ['model', ({ model }) => model ?? '–'],
        ['status', ({ status, outcome }) => (status === 'completed' ? status : `${status} (${outcome})`)],
        'attempts',
        ['duration', ({ duration_ms: ms }) => formatDuration(ms)],
        ['tokens', tokensText],
        ['usd', ({ cost_usd: cost }) => formatUsd(cost)],
      ]);
      out.nextPage(next);
    },
  });

  commandFor(group, requestsApi.get, {
    name: 'get',
    arguments: { id: ['id', 'id of the list, or the x-request-id of the last 24 hours'] },
    examples: ['headworks requests get 1042'],
    resolve: async ({ params }, { client }) => {
      const wanted = String(params['id']);
      if (/^\d{1,15}$/.test(wanted)) return {};
      const query = { request_id: wanted, limit: 1 };
      const [found] = (await callApi(client, 'GET /api/v1/gateway/requests', { query })).requests;
      if (!found) throw new CoreError('NOT_FOUND', `The log of the last 24 hours has no request ${wanted}.`);
      return { params: { id: found.id } };
    },
    print: ({ out }, { attempts, content, ...request }) => {
      const { cost_usd: cost, duration_ms: durationMs, first_token_ms: firstTokenMs } = request;
      out.fields(request, {
        duration_ms: Math.round(durationMs),
        first_token_ms: firstTokenMs === null ? null : Math.round(firstTokenMs),
        cost_usd: formatUsd(cost),
      });
      out.line('');
      out.list(attempts, 'No model was called.', [
        'at',
        'model',
        'outcome',
        ['status', ({ status }) => status ?? '–'],
        ['duration', ({ duration_ms: ms }) => formatDuration(ms)],
        ['first token', ({ first_token_ms: ms }) => (ms === null ? '–' : formatDuration(ms))],
        ['tokens', tokensText],
        ['usd', ({ cost_usd: cost }) => formatUsd(cost)],
      ]);
      if (!content) return;
      for (const [title, text] of Object.entries(content)) {
        out.line(`\n${title}:`);
        for (const line of (text ?? '–').split('\n')) out.line(printable(line));
      }
    },
  });
}

const tokensText = ({
  prompt_tokens: prompt,
  completion_tokens: completion,
}: {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}): string => `${prompt} + ${completion}`;
