// HTTP API of a small help desk: agents, projects, and tickets per project, behind a login.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HelpDesk {
  readonly url: string;
  /** All its content, by the ids in the vault. */
  readonly ids: Readonly<Record<'agents' | 'projects' | 'tickets', readonly string[]>>;
  /** Paths of the content calls so far. */
  readonly calls: readonly string[];
  /** Invalidates all issued tokens. */
  expireTokens(): void;
  stop(): Promise<void>;
}

export const helpDeskCredentials = { user: 'reader', password: 'only-an-example' };

const ticketCounts: Readonly<Record<string, number>> = { WEB: 34, APP: 7, OPS: 0, 'R&D': 12 };
const projects = Object.keys(ticketCounts).map((key, index) => ({
  key,
  title: `Project ${key}`,
  lead: { id: index + 1 },
}));
const agents = Array.from({ length: 23 }, (_, index) => ({
  id: index + 1,
  name: `Agent ${index + 1}`,
  hired_at: `2024-01-${String(index + 1).padStart(2, '0')}T09:00:00Z`,
}));

const ticketsOf = (project: string) =>
  Array.from({ length: ticketCounts[project] ?? 0 }, (_, index) => ({
    number: index + 1,
    project,
    subject: `Something about ${project} no. ${index + 1}`,
    assignee: (index % agents.length) + 1,
    opened_at: 1_700_000_000 + index * 3_600,
    changed_at: 1_700_000_000 + index * 7_200,
  }));

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function contentAt(url: URL): Answer {
  const number = (name: string, otherwise: number) => Number(url.searchParams.get(name) ?? otherwise);
  if (url.pathname === '/agents') {
    const [page, size] = [number('page', 1), number('per_page', 10)];
    const body = { agents: agents.slice((page - 1) * size, page * size) };
    return { status: 200, body, headers: { 'x-total': String(agents.length) } };
  }
  if (url.pathname === '/projects') {
    const [from, limit] = [number('from', 0), number('limit', 2)];
    const next: Record<string, string> =
      from + limit < projects.length
        ? { link: `</projects?limit=${limit}&from=${from + limit}>; rel="next"` }
        : {};
    return { status: 200, body: projects.slice(from, from + limit), headers: next };
  }
  const project = /^\/projects\/([^/]+)\/tickets$/.exec(url.pathname)?.[1];
  if (project === undefined) return { status: 404, body: { error: 'There is nothing here.' } };
  const all = ticketsOf(decodeURIComponent(project));
  const [after, limit] = [number('after', 0), number('limit', 10)];
  const data = all.slice(after, after + limit);
  return {
    status: 200,
    body: { data, meta: { next: after + limit < all.length ? String(after + limit) : null } },
  };
}

/** Listens on loopback; port 0 takes any free one. */
export async function startHelpDesk(port = 0): Promise<HelpDesk> {
  const tokens = new Set<string>();
  const calls: string[] = [];
  let logins = 0;

  async function login(request: IncomingMessage): Promise<Answer> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const given = JSON.parse(Buffer.concat(pieces).toString()) as typeof helpDeskCredentials;
    const { user, password } = helpDeskCredentials;
    if (given.user !== user || given.password !== password)
      return { status: 401, body: { error: 'User or password is wrong.' } };
    const token = `session-${++logins}`;
    tokens.add(token);
    return { status: 200, body: { session: { token, expires_in: 3_600 } } };
  }

  async function answerTo(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', 'http://helpdesk.test');
    if (request.method === 'POST' && url.pathname === '/session') return login(request);
    calls.push(url.pathname);
    const isKnown = tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '');
    return isKnown ? contentAt(url) : { status: 401, body: { error: 'Log in first.' } };
  }

  const send = (response: ServerResponse, { status, body, headers }: Answer) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  const server = createServer((request, response) => {
    answerTo(request).then(
      (answer) => send(response, answer),
      () => send(response, { status: 400, body: { error: 'That was no request of ours.' } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ids: {
      agents: agents.map(({ id }) => String(id)),
      projects: projects.map(({ key }) => key),
      tickets: projects.flatMap(({ key }) => ticketsOf(key).map(({ number }) => `${key}::${number}`)),
    },
    calls,
    expireTokens: () => tokens.clear(),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

if (import.meta.main) {
  const { url } = await startHelpDesk(Number(process.env['PORT'] ?? 8431));
  console.log(`The help desk listens at ${url}. In another terminal:`);
  console.log(`  export HELPDESK_URL=${url} HELPDESK_USER=reader HELPDESK_PASSWORD=only-an-example`);
  console.log('  headworks extract rest --source examples/rest-source/helpdesk.yaml');
}
