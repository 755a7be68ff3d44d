// A disk of a few megabytes, to fill it. Only root may mount one.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface SmallDisk {
  readonly folder: string;
  fill(): void;
  free(): void;
}

/** Null where no disk can be mounted. Unmounted with the test. */
export async function smallDisk(megabytes: number): Promise<SmallDisk | null> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    await rm(folder, { recursive: true });
    return null;
  }
  onTestFinished(async () => {
    // Lazily: a file of it may still be open.
    execFileSync('umount', ['-l', folder]);
    await rm(folder, { recursive: true });
  });
  const filler = join(folder, 'filler');
  return {
    folder,
    fill: () => {
      const file = openSync(filler, 'w');
      try {
        for (const page = Buffer.alloc(4_096); ;) writeSync(file, page);
      } catch {
        // It is full.
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler),
  };
}
