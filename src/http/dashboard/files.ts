// The built dashboard as the server sees it: one page, and assets that are read from disk when requested.

export interface DashboardAsset {
  readonly type: string;
  read(): Promise<Buffer>;
}

export interface DashboardFiles {
  /** The page; `%NONCE%` in it stands for the nonce of the response's content security policy. */
  readonly page: string;
  /** By path below `/dashboard/`, for example `assets/index-4f.js`: named by content, so they never change. */
  readonly assets: ReadonlyMap<string, DashboardAsset>;
}
