// npm run verify:clients: real coding agents from their npm packages against a gateway with scripted models behind it. Each
// lists a folder by a tool call, writes a file, reads it back and ends: with the model streaming, with a fallback to another
// provider between turns, and with models that have another API than the agent. The packages (about 1 GB) are installed
// outside the repository.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ChatApi } from '../../src/gateway/index.ts';
import type { AnyApiProvider } from '../../test/support/gateway/any-api-provider.ts';
import { startAnyApiProvider } from '../../test/support/gateway/any-api-provider.ts';
import { agentModel, fileName, fileText, listedName } from './agent-model.ts';
import type { CodingAgent } from './agents.ts';
import { agents, packages } from './agents.ts';

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: join(tmpdir(), 'headworks-verify-clients') },
    only: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});

const usage = `npm run verify:clients -- [--folder FOLDER] [--only TEXT]

Runs coding agents against the gateway. Installs them into FOLDER (default: ${values.folder}), about 1 GB.

  --only TEXT   only runs whose name contains TEXT

Example: npm run verify:clients -- --only codex
`;

/** The models behind the gateway: the first fails from its request number `failsFrom` on. */
interface Scenario {
  readonly name: string;
  readonly models: readonly { readonly api: ChatApi; readonly failsFrom?: number }[];
}

/** The API of the agent, another one, and a fallback between turns to a provider with another API. */
function scenariosOf({ api }: CodingAgent): readonly Scenario[] {
  const other = api === 'messages' ? 'chat' : 'messages';
  return [
    { name: `model with the ${api} API`, models: [{ api }] },
    ...(['chat', 'responses', 'messages', 'gemini'] as const)
      .filter((each) => each !== api)
      .map((each) => ({ name: `model with the ${each} API`, models: [{ api: each }] })),
    {
      name: `fallback from ${api} to ${other} between turns`,
      models: [{ api, failsFrom: 3 }, { api: other }],
    },
  ];
}

interface Run {
  readonly exitCode: number | null;
  readonly output: string;
}

const limitMs = 300_000;

function runCommand(
  bin: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<Run> {
  return new Promise((resolve) => {
    const child = spawn(bin, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, limitMs);
    child.on('error', (error) => (output += error.message));
    child.on('close', (exitCode) => {
      clearTimeout(timer);
      resolve({ exitCode, output });
    });
  });
}

async function install(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const manifest = JSON.stringify({ private: true, name: 'verify-clients' });
  await writeFile(join(folder, 'package.json'), manifest, { flag: 'wx' }).catch(() => undefined);
  console.log(`Installing ${packages.join(', ')} into ${folder} …`);
  const args = ['install', '--no-save', '--no-audit', '--no-fund', ...packages];
  const { exitCode, output } = await runCommand('npm', args, { cwd: folder, env: process.env });
  if (exitCode !== 0) throw new Error(`npm install failed:\n${output}`);
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

interface RunningGateway {
  readonly url: string;
  stop(): Promise<void>;
}

const key = 'verify-clients-admin-token-0123456789';

async function startGateway(
  providers: readonly AnyApiProvider[],
  { models }: Scenario,
): Promise<RunningGateway> {
  const data = await mkdtemp(join(tmpdir(), 'headworks-verify-data-'));
  const port = await freePort();
  const definitions = models.map(({ api }, index) => ({
    name: `up${index}/${api}`,
    model: 'scripted',
    baseUrl: providers[index]?.url,
    apis: [api],
    envVar: `UP${index}_API_KEY`,
  }));
  const child = spawn(process.execPath, ['src/cli/main.ts', 'serve'], {
    env: {
      ...process.env,
      UP0_API_KEY: 'k0',
      UP1_API_KEY: 'k1',
      HEADWORKS_DATA_DIR: data,
      HEADWORKS_PORT: String(port),
      HEADWORKS_ADMIN_TOKEN: key,
      HEADWORKS_GATEWAY_MODELS: JSON.stringify(definitions),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const url = `http://127.0.0.1:${port}`;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  for (let tries = 0; ; tries++) {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) break;
    if (tries > 600 || child.exitCode !== null) throw new Error(`The gateway did not start:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** Titles and summaries, without tools, need not be. */
const isStreamed = ({ path, body }: AnyApiProvider['requests'][number]): boolean =>
  body['tools'] === undefined || body['stream'] === true || path.includes('streamGenerateContent');

/** Undefined: it works; otherwise why not. */
async function verify(agent: CodingAgent, scenario: Scenario): Promise<string | undefined> {
  const home = await mkdtemp(join(tmpdir(), 'headworks-verify-home-'));
  const folder = await mkdtemp(join(tmpdir(), 'headworks-verify-work-'));
  await writeFile(join(folder, listedName), 'A folder for the agent.\n');
  const answerTo = agentModel(folder);
  const providers = await Promise.all(
    scenario.models.map(({ failsFrom = Number.POSITIVE_INFINITY }) =>
      startAnyApiProvider({ answerTo, failWith: (count) => (count >= failsFrom ? 429 : undefined) }),
    ),
  );
  const gateway = await startGateway(providers, scenario);
  try {
    const prompt = `List this folder, write "${fileText}" into ${fileName}, read it back and tell me what it says.`;
    const model = 'up0/' + (scenario.models[0]?.api ?? '');
    const { bin, args, env } = await agent.start({ home, folder, url: gateway.url, key, model, prompt });
    const { exitCode, output } = await runCommand(join(values.folder, 'node_modules/.bin', bin), args, {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        XDG_CONFIG_HOME: join(home, '.config'),
        XDG_DATA_HOME: join(home, '.local/share'),
        XDG_CACHE_HOME: join(home, '.cache'),
        XDG_STATE_HOME: join(home, '.local/state'),
        NO_COLOR: '1',
        ...env,
      },
    });
    const written = await readFile(join(folder, fileName), 'utf8').catch(() => undefined);
    const problems = [
      ...(exitCode === 0 ? [] : [`exit code ${exitCode}`]),
      ...(written?.trim() === fileText ? [] : [`the file has ${JSON.stringify(written)}`]),
      ...(output.includes('The file says:') && output.includes(fileText)
        ? []
        : ['the last answer is missing']),
      ...(providers.flatMap(({ requests }) => requests).every(isStreamed)
        ? []
        : ['a request with tools is not streamed']),
      ...providers.flatMap(({ requests }, index) =>
        requests.length > 0 ? [] : [`provider ${index + 1} received no request`],
      ),
    ];
    return problems.length === 0 ? undefined : `${problems.join('; ')}\n${output.slice(-3_000)}`;
  } finally {
    await gateway.stop();
    await Promise.all(providers.map((provider) => provider.stop()));
    for (const each of [home, folder]) await rm(each, { recursive: true, force: true });
  }
}

if (values.help === true) {
  console.log(usage);
  process.exit(0);
}
await install(values.folder);
let failed = 0;
for (const agent of agents)
  for (const scenario of scenariosOf(agent)) {
    const name = `${agent.name}: ${scenario.name}`;
    if (values.only !== undefined && !name.toLowerCase().includes(values.only.toLowerCase())) continue;
    const startedAt = performance.now();
    const problem = await verify(agent, scenario);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    console.log(`${problem === undefined ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
    if (problem === undefined) continue;
    failed += 1;
    console.log(problem.replaceAll(/^/gm, '       '));
  }
console.log(failed === 0 ? 'All agents work.' : `${failed} failed.`);
process.exit(failed === 0 ? 0 : 1);
