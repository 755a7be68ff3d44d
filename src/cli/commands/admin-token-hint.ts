// Says where the admin token is; shows it only when it was made just now.
import { join } from 'node:path';
import type { Config } from '../../config/index.ts';
import type { RunningServer } from '../ports.ts';

export function adminTokenHint(config: Config, server: RunningServer): string {
  if (config.server.adminToken !== null) return 'as configured (headworks config shows where)';
  const file = join(config.data.folder, 'admin-token');
  return server.newAdminToken === null
    ? `in ${file}`
    : `${server.newAdminToken} (shown only this once; kept in ${file})`;
}
