// The user that servers run as: PostgreSQL refuses root, and no listening process should have its privileges.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** `nobody` when this process runs as root; otherwise undefined (the same user). */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [, , uid, gid] = /^nobody:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0].split(':') ?? [];
  if (!uid || !gid)
    throw new Error('There is no user "nobody" to run the servers as; run as an ordinary user.');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Whether that user can enter the folder; root's home is closed to other users. */
export function canEnter(folder: string, user: ServerUser | undefined): boolean {
  const tried = spawnSync('test', ['-x', folder], { cwd: '/', ...user });
  if (tried.error)
    throw new Error(
      `Cannot become the user the servers run as (${tried.error.message}); run as an ordinary user.`,
    );
  return tried.status === 0;
}
