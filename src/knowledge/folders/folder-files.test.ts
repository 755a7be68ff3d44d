import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { filesBelow } from './folder-files.ts';

it('lists documents in the order of their names, without hidden files and links', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  // File systems list by creation, hash or name: created in an order that is not the expected one.
  const names = ['z.md', 'm/b.txt', 'a.md', 'm/a.txt', 'B.md', 'm/.c.txt', 'k.md', 'c.md', 'y.png', 'é.md'];
  for (const name of names) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), name);
  }
  await symlink(join(folder, 'a.md'), join(folder, 'link.md'));
  const found: string[] = [];
  for await (const { path } of filesBelow(folder, 0)) found.push(relative(folder, path));
  expect(found).toEqual(['B.md', 'a.md', 'c.md', 'k.md', 'm/a.txt', 'm/b.txt', 'z.md', 'é.md']);
});
