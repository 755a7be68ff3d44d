import { describe, expect, it } from 'vitest';
import { folderBusy, folderUnusable } from './files.ts';

describe('folderUnusable', () => {
  it.each([
    ['EACCES', 'cannot be written by this user'],
    ['EPERM', 'cannot be written by this user'],
    ['EROFS', 'read-only file system'],
    ['ENOSPC', 'no space left'],
    ['ENOTDIR', 'a file'],
    ['EMFILE', 'Raise the limit of open files'],
    ['EIO', 'input/output error'],
  ])('explains %s in one line, with what to do', (code, text) => {
    const error = folderUnusable('/data', Object.assign(new Error(`${code}: input/output error`), { code }));
    expect(error.code).toBe('DATA_FOLDER_UNUSABLE');
    expect(error.message).toMatch(/^The data folder \/data [^\n]+\. [A-Z][^\n]+\.$/);
    expect(error.message).toContain(text);
  });
});

it('reports a full disk, also from SQLite, and permissions for other write failures', () => {
  const sqlite = (errcode: number) =>
    folderUnusable('/data', Object.assign(new Error('no'), { code: 'ERR_SQLITE_ERROR', errcode })).message;
  expect(sqlite(13)).toContain('no space left');
  expect(sqlite(8)).toContain('check who owns the files'.replace('c', 'C'));
});

describe('folderBusy', () => {
  it('has a message before the holder has recorded its process', () => {
    expect(folderBusy('/data', undefined).message).toContain('in use by another process');
  });
});
