// The built dashboard, and the one-time tokens of login links to it.
import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock, IdSource } from '../core/index.ts';
import type { Queryable } from '../platform/postgres/index.ts';
import { sql } from '../platform/postgres/index.ts';

export interface DashboardAsset {
  readonly type: string;
  read(): Promise<Buffer>;
}

export interface DashboardFiles {
  /** The page; `%NONCE%` in it is replaced by the nonce of the response's content security policy. */
  readonly page: string;
  /** Assets by path below `/dashboard/`, for example `assets/index-4f.js`: named by content, so they never change. */
  readonly assets: ReadonlyMap<string, DashboardAsset>;
}

/** Beside the compiled code in the package, in web/dist of a checkout. */
const folders = ['../web/', '../../web/dist/'].map((path) => fileURLToPath(new URL(path, import.meta.url)));

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** Null when it has not been built, as in a fresh checkout. Assets are listed now and read when requested. */
export async function openDashboardFiles(): Promise<DashboardFiles | null> {
  for (const folder of folders) {
    const page = await readFile(`${folder}index.html`, 'utf8').catch(() => null);
    if (page === null) continue;
    const assets = new Map<string, DashboardAsset>();
    for await (const path of glob('assets/*.*', { cwd: folder }))
      assets.set(path.replaceAll('\\', '/'), {
        type: contentTypes[extname(path)] ?? 'application/octet-stream',
        read: () => readFile(`${folder}${path}`),
      });
    return { page, assets };
  }
  return null;
}

const loginLinkMs = 10 * 60_000;

/** Each token works once, on any server of the same database. */
export class DashboardLogins {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #ids: IdSource;

  constructor(database: Queryable, clock: Clock, ids: IdSource) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  async create(): Promise<{ readonly token: string; readonly expiresAt: Date }> {
    const token = this.#ids.token(32);
    const now = this.#clock.now();
    const expiresAt = new Date(now + loginLinkMs);
    await this.#database.query(sql`delete from login_link where expires_at < ${new Date(now)}`);
    await this.#database.query(
      sql`insert into login_link (token_hash, expires_at) values (${hashOf(token)}, ${expiresAt})`,
    );
    return { token, expiresAt };
  }

  /** True once for a token that has not expired. */
  async use(token: string): Promise<boolean> {
    const { rows } = await this.#database.query<{ expires_at: Date }>(
      sql`delete from login_link where token_hash = ${hashOf(token)} returning expires_at`,
    );
    return rows.some(({ expires_at }) => expires_at.getTime() > this.#clock.now());
  }
}

const hashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest();
