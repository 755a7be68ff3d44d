// Looker as a source: its twelve content types through API 4.0.
import type { Clock, HttpTransport } from '../../../core/index.ts';
import { linkSignals } from '../../../core/index.ts';
import { FetchError } from '../../errors.ts';
import { limiterKey } from '../../rate-limiter.ts';
import type { RawPage, PageRequest, Source } from '../../types.ts';
import { connectPatiently } from '../connect.ts';
import type { CallLimits, PermitProvider } from '../http-client.ts';
import { countIn, createCaller, fetchJson, nextLinkIn } from '../http-client.ts';
import type { LookerType } from './description.ts';
import { inFolders, lookerAddress, lookerTypes, contentTypeOf } from './description.ts';
import type { FolderFilter } from './folders.ts';
import { readFolderRows, resolveFolders, untoldFolders } from './folders.ts';
import { createLookerAuthorizer } from './looker-login.ts';
import { lookerUrl } from './looker-url.ts';

export interface LookerSourceOptions {
  /** With or without `/api/4.0`. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly transport: HttpTransport;
  readonly clock: Clock;
  /** Dashboards and looks of these folders only. */
  readonly folders?: FolderFilter;
  readonly limits?: Partial<CallLimits>;
  /** Told each access token, so that it is redacted everywhere. */
  readonly onSecret?: (token: string) => void;
  /** Asked before every call, logins included. Default: calls need no leave. */
  readonly acquirePermit?: PermitProvider;
}

const folderPageSize = 500;

/** Fails with EXTRACTION_SOURCE_INVALID for a base URL that is none. The transport stays the caller's to close. */
export function createLookerSource(options: LookerSourceOptions): Source {
  const { clock, clientId, folders } = options;
  const address = lookerAddress(options.baseUrl);
  const words = {
    server: `Looker at ${address.base}`,
    addressSetting: 'LOOKER_BASE_URL',
    credentialSettings: 'LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET',
  };
  const call = createCaller({ ...options, origin: new URL(address.api).origin });
  const authorizer = createLookerAuthorizer({ ...options, address, call, words });
  const closing = new AbortController();
  let types: readonly LookerType[] = lookerTypes;

  async function get(url: URL, signal: AbortSignal, onSent?: () => void) {
    const link = linkSignals(signal, closing.signal);
    try {
      return await fetchJson({ call, authorizer, clock }, { url, onSent }, link.signal);
    } finally {
      link.dispose();
    }
  }

  async function folderPage(offset: number, signal: AbortSignal) {
    const url = new URL(`${address.api}/folders/search`);
    const query = {
      sorts: 'id',
      fields: 'id,parent_id',
      limit: String(folderPageSize),
      offset: String(offset),
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const answer = await get(url, signal);
    return { rows: readFolderRows(answer), total: countIn(answer.headers['x-total-count']) };
  }

  async function findFolders(filter: FolderFilter, signal: AbortSignal): Promise<void> {
    try {
      const ids = await resolveFolders(filter, (offset) => folderPage(offset, signal));
      types = lookerTypes.map((type) => inFolders(type, ids));
    } catch (error) {
      throw error instanceof FetchError ? untoldFolders(words, error) : error;
    }
  }

  return {
    name: `looker ${address.base}`,
    limiterKey: limiterKey(address.host, clientId),
    get types() {
      return types.map(contentTypeOf);
    },
    async connect(signal, onWait) {
      await connectPatiently(async () => void (await authorizer.authorize(signal)), clock, signal, onWait);
      if (folders && folders.ids.length > 0)
        await connectPatiently(() => findFolders(folders, signal), clock, signal, onWait);
    },
    async fetch(request: PageRequest, signal: AbortSignal, onSent?: () => void): Promise<RawPage> {
      const { headers, bytes } = await get(lookerUrl(address, types, request), signal, onSent);
      const base = new URL(address.api);
      return {
        request,
        bytes,
        total: countIn(headers['x-total-count']),
        nextLink: nextLinkIn(headers['link'], base),
      };
    },
    async close() {
      closing.abort(new Error('The source was closed.'));
      authorizer.close();
    },
  };
}
