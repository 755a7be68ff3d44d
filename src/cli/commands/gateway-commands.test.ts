// headworks models, keys and prompt, against a server double.
import { describe, expect, it } from 'vitest';
import type { CliWorldOptions } from '../../../test/support/cli-world.ts';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { HeadworksError } from '../../core/index.ts';

const model = {
  id: 7,
  name: 'groq/llama',
  provider: 'groq',
  api_endpoint: 'https://api.groq.com/openai/v1/chat/completions',
  upstream_model: 'llama',
  env_var: 'GROQ_API_KEY',
  is_local: false,
  origin: 'built-in',
  capabilities: {
    streaming: true,
    tools: true,
    json: true,
    vision: false,
    embeddings: false,
    context_tokens: 8_192,
  },
  quotas: { requests_per_minute: 30 },
  is_active: true,
  is_configured: true,
  key_count: 2,
  key_source: 'GROQ_API_KEY',
  needs: null,
  state: 'cooling-down',
  health: {
    is_failing: false,
    request_count: 4,
    success_rate: 0.75,
    last_failure: null,
    backoff_until: null,
  },
  available_at: '2026-03-01T13:00:00.000Z',
  cooldowns: [
    {
      key_id: 'abc',
      until: '2026-03-01T13:00:00.000Z',
      cause: 'rate-limit',
      source: 'retry-after',
      reason: null,
    },
  ],
  success_count: 9,
  failure_count: 1,
  request_count: 10,
  success_rate: 0.9,
  average_response_time: 1.25,
  reliability_score: 0.89,
  recent_success_rate: null,
  recent_request_count: null,
  recent_reliability_score: null,
  effective_reliability_score: 0.89,
  decision_reason: 'Long-term.',
};
const key = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  name: 'laptop',
  prefix: 'hwk_abc123',
  created_at: '2026-03-01T11:00:00.000Z',
  expires_at: '2026-03-02T12:00:00.000Z',
  revoked_at: null,
  requests_per_minute: null,
  tokens_per_day: 1_000,
  usd_per_day: 5,
  tokens_today: 250,
  usd_today: 0.00123,
};

const logged = {
  id: 42,
  request_id: 'r-1',
  at: '2026-03-01T11:59:00.000Z',
  caller: `key:${key.id}`,
  api: 'chat',
  requested_model: 'auto',
  model: 'groq/llama',
  status: 'completed',
  outcome: 'success',
  attempts: 2,
  duration_ms: 1_200,
  first_token_ms: null,
  prompt_tokens: 20,
  completion_tokens: 3,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 0.00123,
};

function world(options: CliWorldOptions = {}): CliWorld {
  return new CliWorld({
    answer: ({ method, path }) => {
      if (path.endsWith('/explain'))
        return {
          model,
          steps: ['9 of 10 succeeded.'],
          position: 2,
          position_reason: 'behind x.',
          recent_attempts: [],
        };
      if (path.endsWith('/probe'))
        return { probes: [{ model: model.name, outcome: 'timeout', reason: null, duration_ms: null }] };
      if (path === '/api/v1/keys') return method === 'GET' ? { keys: [key] } : { ...key, key: 'hwk_the-key' };
      if (path.startsWith('/api/v1/keys/')) return { ...key, revoked_at: '2026-03-01T12:00:00.000Z' };
      if (path === '/api/v1/usage') return { usage: [], totals: [] };
      if (path === '/api/v1/gateway/requests') return { requests: [logged], next: '42' };
      if (path.startsWith('/api/v1/gateway/requests/'))
        return {
          ...logged,
          duration_ms: 1_200.000_000_03,
          attempts: [],
          content: { request: 'a\nb\u001b[31m', response: null },
        };
      return method === 'GET' ? [model] : { ...model, available_at: null };
    },
    ...options,
  });
}

describe('headworks models', () => {
  it('lists models that have a key, with state and score, and all with --all', async () => {
    const at = world();
    expect(await at.run('models')).toBe(0);
    expect(at.out).toMatch(
      /7\s+groq\/llama\s+0\.890\s+90%\s+1\.25\s+10\s+GROQ_API_KEY\s+cooling down \(rate-limit\), available in 1 h/,
    );
    expect(at.calls[0]).toMatchObject({ query: { configured_only: 'true', active_only: 'true' } });
    await at.run('models', 'list', '--all');
    expect(at.calls[1]).toMatchObject({ query: { configured_only: 'false', active_only: 'false' } });
  });

  it.each<[string, object, string, string]>([
    [
      'a key of a variable that may be there for something else',
      { name: 'github/x', env_var: 'GITHUB_TOKEN', key_source: 'GITHUB_TOKEN', state: 'available' },
      'GITHUB_TOKEN +available',
      '2 in GITHUB_TOKEN',
    ],
    [
      'what is missing, all of it',
      {
        env_var: 'CLOUDFLARE_API_TOKEN',
        is_configured: false,
        state: 'no-key',
        key_source: null,
        needs: 'CLOUDFLARE_API_TOKEN together with CLOUDFLARE_ACCOUNT_ID',
      },
      '– +needs CLOUDFLARE_API_TOKEN together with CLOUDFLARE_ACCOUNT_ID',
      'none; set CLOUDFLARE_API_TOKEN together with CLOUDFLARE_ACCOUNT_ID',
    ],
    [
      'a model without key',
      { env_var: null, key_source: null, state: 'available' },
      '– +available',
      'none needed',
    ],
    [
      'an exhausted quota',
      { state: 'quota-exhausted', cooldowns: [{ ...model.cooldowns[0], cause: 'quota', source: 'quota' }] },
      'quota exhausted, available in 1 h',
      'quota, from quota',
    ],
    [
      'a model that fails (T3)',
      {
        state: 'failing',
        health: {
          ...model.health,
          is_failing: true,
          success_rate: 0,
          request_count: 18,
          last_failure: 'network',
        },
      },
      'failing \\(network\\), 0% of 18 in the last 15 minutes',
      '0% of 18 in the last 15 minutes',
    ],
  ])('shows %s', async (_what, change, line, fact) => {
    const at = world({ answer: () => [{ ...model, ...change }] });
    await at.run('models', 'list', '--all');
    expect(at.out).toMatch(new RegExp(line));
    await at.run('models', 'get', '7');
    expect(at.out).toContain(fact);
  });

  it('replaces an added model, adds it when there is none, and deletes', async () => {
    const add = ['models', 'create', '--base-url', 'http://127.0.0.1:1/v1'];
    const at = world();
    expect(await at.run(...add, 'groq/llama', '--replace')).toBe(0);
    expect(at.calls[0]).toMatchObject({ method: 'GET', query: { active_only: 'false' } });
    expect(at.calls[1]).toMatchObject({
      method: 'PUT',
      path: '/api/v1/models/7',
      body: { name: 'groq/llama', base_url: 'http://127.0.0.1:1/v1' },
    });
    expect(at.out).toContain('Model groq/llama is replaced.');
    await at.run(...add, 'groq/lama', '--replace');
    expect(at.calls.at(-1)).toMatchObject({ method: 'POST', body: { name: 'groq/lama' } });
    expect(at.out).toContain('to replace: it is created as a new one.');
    const json = world();
    await json.run(...add, 'groq/llama', '--replace', '--json');
    expect(JSON.parse(json.out)).toMatchObject({ name: 'groq/llama', replaced: true });
    expect(await at.run('models', 'delete', 'groq/llama', '--force')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ method: 'DELETE', path: '/api/v1/models/7' });
    expect(at.out).toContain('Model groq/llama is deleted.');
  });

  it('prints what an added model needs, and that its quota stays exhausted after cooldowns are cleared', async () => {
    const needy = { ...model, name: 'mine', needs: 'MINE_API_KEY' };
    const added = world({ answer: () => needy });
    await added.run('models', 'create', 'mine', '--base-url', 'http://127.0.0.1:1/v1');
    expect(added.out).toBe(
      "Model mine is created. It becomes available when MINE_API_KEY is set in the server's environment.\n",
    );
    const warmed = world({ answer: ({ method }) => (method === 'GET' ? [model] : model) });
    await warmed.run('models', 'clear-cooldown', '7');
    expect(warmed.out).toContain('its quota is exhausted until 2026-03-01T13:00:00.000Z');
  });

  it('documents the defaults of --provider and --model in its help', async () => {
    const at = world();
    await at.run('models', 'create', '--help');
    const help = at.out.replace(/\s+/g, ' ');
    expect(help).toContain('Default: the whole name; with --provider P and a name P/X: X');
    expect(help).toContain('must end in _API_KEY or _API_TOKEN');
    expect(help).toContain(
      'Default: the part of the name before the first slash; without one, the host of base_url',
    );
  });

  it('prints a remedy when there is none', async () => {
    const at = world({ answer: () => [] });
    expect(await at.run('models')).toBe(0);
    expect(at.out).toContain('GROQ_API_KEY');
  });

  it('shows one by name or id, and suggests similar names', async () => {
    const at = world();
    expect(await at.run('models', 'get', '7')).toBe(0);
    expect(at.out).toContain('2 in GROQ_API_KEY');
    expect(at.out).toContain('from retry-after');
    expect(await at.run('models', 'get', 'llama')).toBe(1);
    expect(at.err).toContain('Did you mean groq/llama?');
    const vague = world();
    await vague.run('models', 'get', 'a');
    expect(vague.err).not.toContain('Did you mean');
  });

  it('creates, enables and disables models, sets and clears cooldowns', async () => {
    const at = world();
    await at.run(
      'models',
      'create',
      'mine',
      '--base-url',
      'http://127.0.0.1:1/v1',
      '--env-var',
      'MINE_API_KEY',
      '--no-json-mode',
      '--no-tools',
      '--vision',
      '--requests-per-minute',
      '30',
    );
    expect(at.calls[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/models',
      body: {
        name: 'mine',
        base_url: 'http://127.0.0.1:1/v1',
        env_var: 'MINE_API_KEY',
        capabilities: { vision: true, json: false, tools: false },
        quotas: { requests_per_minute: 30 },
      },
    });
    for (const [command, path, sent] of [
      ['enable', 'active', { body: { is_active: true } }],
      ['disable', 'active', { body: { is_active: false } }],
      ['set-cooldown', 'availability', { query: { retry_after_seconds: 3_600 } }],
      ['clear-cooldown', 'availability', { query: { retry_after_seconds: '0' } }],
    ] as const) {
      expect(await at.run('models', command, 'groq/llama')).toBe(0);
      expect(at.calls.at(-1)).toMatchObject({ method: 'PATCH', path: `/api/v1/models/7/${path}`, ...sent });
    }
  });

  it('explains, and probes with exit code 4 when a model does not respond', async () => {
    const at = world();
    expect(await at.run('models', 'explain', 'groq/llama')).toBe(0);
    expect(at.out).toContain('Rank 2: behind x.');
    expect(await at.run('models', 'probe')).toBe(4);
    expect(at.out).toContain('timeout');
  });

  it('probes all, one or several by name or id, and none when one of them is unknown', async () => {
    const other = { ...model, id: 8, name: 'acme/large' };
    const probes = [{ model: other.name, outcome: 'success', reason: null, duration_ms: 5 }];
    const at = world({ answer: ({ method }) => (method === 'GET' ? [model, other] : { probes }) });
    for (const [given, body] of [
      [[], {}],
      [['7'], { ids: [7] }],
      [['acme/large', 'groq/llama', '8'], { ids: [8, 7] }],
    ] as const) {
      expect(await at.run('models', 'probe', ...given)).toBe(0);
      expect(at.calls.at(-1)).toMatchObject({ path: '/api/v1/models/probe', body });
    }
    const before = at.calls.length;
    expect(await at.run('models', 'probe', 'acme/large', 'unknown')).toBe(1);
    expect(at.calls).toHaveLength(before + 1);
  });
});

describe('headworks keys', () => {
  it('creates a key and shows it once, alone on standard output', async () => {
    const at = world();
    expect(await at.run('keys', 'create', 'ci', '--expires-days', '30', '--tokens-per-day', '5000')).toBe(0);
    expect(at.out).toBe('hwk_the-key\n');
    expect(at.calls[0]).toMatchObject({
      body: { name: 'ci', expires_at: '2026-03-31T12:00:00.000Z', tokens_per_day: 5_000 },
    });
  });

  it('lists, revokes by name, and reports when there is no usage', async () => {
    const at = world();
    await at.run('keys');
    expect(at.out).toMatch(
      /laptop\s+hwk_abc123…\s+active, expires in 1 d\s+1 h ago\s+unlimited\s+250 of 1000\s+0\.0012 of 5/,
    );
    expect(await at.run('keys', 'revoke', 'laptop', '--force')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ method: 'DELETE', path: `/api/v1/keys/${key.id}` });
    expect(await at.run('keys', 'revoke', 'unknown', '--force')).toBe(1);
    await at.run('keys', 'usage', '--days', '2');
    expect(at.calls.at(-1)).toMatchObject({ query: { from_day: '2026-02-28' } });
    expect(at.out).toContain('No usage in this period.');
  });

  it('changes limits by name, and removes one', async () => {
    const at = world();
    expect(await at.run('keys', 'update', 'laptop', '--usd-per-day', '2.5', '--no-tokens-per-day')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({
      method: 'PATCH',
      path: `/api/v1/keys/${key.id}`,
      body: { usd_per_day: 2.5, tokens_per_day: null },
    });
    expect(at.out).toMatch(/requests per minute\s+unlimited/);
  });
});

describe('headworks requests', () => {
  it('lists requests of a key by its name', async () => {
    const at = world();
    expect(await at.run('requests', 'list', '--key', 'laptop', '--status', 'completed')).toBe(0);
    expect(at.calls.at(-1)).toMatchObject({ query: { caller: `key:${key.id}`, status: 'completed' } });
    expect(at.out).toMatch(/42\s+1 min ago.*auto\s+groq\/llama\s+completed\s+2\s+1\.2 s\s+20 \+ 3\s+0\.0012/);
    expect(at.err).toContain('--after 42');
  });

  it('cuts a long requested name instead of making every row as wide', async () => {
    const requested_model = 'x'.repeat(200);
    const at = world({ answer: () => ({ requests: [{ ...logged, requested_model }, logged], next: null }) });
    expect(await at.run('requests', 'list')).toBe(0);
    expect(at.out).toContain(` ${'x'.repeat(59)}…  groq/llama`);
    for (const line of at.out.split('\n')) expect(line.length).toBeLessThan(200);
    expect(await at.run('requests', 'list', '--json')).toBe(0);
    expect(at.out).toContain(requested_model);
  });

  it('shows one by its number or its x-request-id, without control characters of its content', async () => {
    const at = world();
    expect(await at.run('requests', 'get', '42')).toBe(0);
    expect(at.calls).toMatchObject([{ path: '/api/v1/gateway/requests/42' }]);
    expect(at.out).toContain('a\nb [31m\n');
    expect(at.out).toMatch(/duration ms +1200\n/);
    expect(await at.run('requests', 'get', 'r-1')).toBe(0);
    expect(at.calls.slice(1)).toMatchObject([
      { path: '/api/v1/gateway/requests', query: { request_id: 'r-1' } },
      { path: '/api/v1/gateway/requests/42' },
    ]);
  });
});

describe('headworks prompt', () => {
  const piece = (content: string) => JSON.stringify({ choices: [{ delta: { content } }] });
  const streamed = {
    headers: {
      'x-headworks-model': 'groq/llama',
      'x-headworks-attempts': '3',
      'x-headworks-fallback': 'true',
    },
    data: [piece('Rhine, '), piece('Nile.'), '[DONE]'],
  };

  it('prints the response as it arrives, and the model that sent it', async () => {
    const at = world({ streamed });
    expect(await at.run('prompt', 'Two rivers.', '--system', 'be brief')).toBe(0);
    expect(at.out).toBe('Rhine, Nile.\n');
    expect(at.err).toContain('— groq/llama, after 3 attempts');
    expect(at.calls[0]).toMatchObject({
      path: '/v1/chat/completions',
      body: {
        model: 'auto',
        stream: true,
        messages: [{ role: 'system' }, { role: 'user', content: 'Two rivers.' }],
      },
    });
  });

  it('removes control characters on a terminal, and writes everything to a pipe', async () => {
    const escapes = 'a\u001b]0;title\u0007b\r\n\tc\u009b31m';
    const data = [piece(escapes), '[DONE]'];
    const terminal = world({ streamed: { ...streamed, data }, isTty: true });
    await terminal.run('prompt', 'x');
    expect(terminal.out).toBe('a]0;titleb\n\tc31m\n');
    const pipe = world({ streamed: { ...streamed, data } });
    await pipe.run('prompt', 'x');
    expect(pipe.out).toBe(`${escapes}\n`);
  });

  it('reads standard input, and prints JSON', async () => {
    const at = world({ streamed, stdin: 'from a pipe' });
    expect(await at.run('prompt', '-', '--json')).toBe(0);
    expect(at.calls[0]).toMatchObject({ body: { messages: [{ content: 'from a pipe' }] } });
    expect(JSON.parse(at.out)).toEqual({
      response: 'Rhine, Nile.',
      model: 'groq/llama',
      attempts: 3,
      fallback_used: true,
    });
    expect(await world({ stdin: ' ' }).run('prompt', '-')).toBe(2);
  });

  it('exits with 4 when the response is interrupted, and with 2 when no model has a key', async () => {
    const error = { headworks_code: 'GATEWAY_STREAM_INTERRUPTED', message: 'It broke off.' };
    const broken = world({ streamed: { ...streamed, data: [piece('Rhi'), JSON.stringify({ error })] } });
    expect(await broken.run('prompt', 'x')).toBe(4);
    expect(broken.err).toContain('It broke off.');
    const bare = world({
      answer: () => {
        throw new HeadworksError('GATEWAY_NOT_CONFIGURED', 'Set GROQ_API_KEY.');
      },
    });
    expect(await bare.run('prompt', 'x')).toBe(2);
  });
});
