// The dashboard's files as they are served: read once, into memory.

export interface DashboardFile {
  readonly body: Buffer;
  readonly type: string;
}

export interface DashboardFiles {
  /** The page; `%NONCE%` in it stands for the nonce of the answer's policy. */
  readonly page: string;
  /** By path below `/dashboard/`, for example `assets/index-4f.js`: named by content, so they never change. */
  readonly assets: ReadonlyMap<string, DashboardFile>;
}
