// A bare client of the simulated Looker: logs in, sends requests, and returns what it received.
import type { LookerSimulator } from '../../src/simulators/looker/server.ts';

export interface Got {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined for an empty body. */
  readonly body: unknown;
}

export class SimulatorClient {
  readonly #simulator: LookerSimulator;
  #token = '';

  constructor(simulator: LookerSimulator) {
    this.#simulator = simulator;
  }

  async login(secret = this.#simulator.clientSecret): Promise<Got> {
    const body = new URLSearchParams({ client_id: this.#simulator.clientId, client_secret: secret });
    const got = await this.call('POST', '/login', { body });
    this.#token = (got.body as { access_token?: string }).access_token ?? '';
    return got;
  }

  get(path: string, scheme = 'token'): Promise<Got> {
    return this.call('GET', path, { scheme });
  }

  async call(
    method: string,
    path: string,
    {
      scheme = 'token',
      body: sent = null,
    }: { readonly scheme?: string; readonly body?: URLSearchParams | null } = {},
  ): Promise<Got> {
    const headers = { authorization: `${scheme} ${this.#token}` };
    const response = await fetch(`${this.#simulator.url}/api/4.0${path}`, { method, headers, body: sent });
    const text = await response.text();
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body };
  }

  /** Ids of one page. */
  async ids(path: string): Promise<readonly string[]> {
    const { body } = await this.get(path);
    return (body as { id?: string; name?: string }[]).map(({ id, name }) => id ?? name ?? '');
  }

  /** Ids of all pages of 10, in the order of the pages. */
  async allIds(path: string): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let offset = 0; ; offset += 10) {
      const page = await this.ids(`${path}${path.includes('?') ? '&' : '?'}limit=10&offset=${offset}`);
      ids.push(...page);
      if (page.length < 10) return ids;
    }
  }
}

/** Every listing of the API, with what it lists and how it is sorted. */
export const listings = [
  ['dashboards', '/dashboards/search?sorts=id'],
  ['lookml_dashboards', '/dashboards/lookml/search?sorts=id'],
  ['looks', '/looks/search?sorts=id'],
  ['lookml_models', '/lookml_models'],
  ['folders', '/folders/search?sorts=id'],
  ['boards', '/boards/search?sorts=id'],
  ['users', '/users/search?sorts=id'],
  ['groups', '/groups/search?sorts=id'],
  ['roles', '/roles/search?sorts=id'],
  ['permission_sets', '/permission_sets/search?sorts=id'],
  ['model_sets', '/model_sets/search?sorts=id'],
  ['scheduled_plans', '/scheduled_plans/search?sorts=id&all_users=true'],
] as const;
