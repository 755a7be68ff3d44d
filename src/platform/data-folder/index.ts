// The data folder, locked by one process at a time.
export { openDataFolder, readHolder, type DataFolder, type DataFolderOptions } from './data-folder.ts';
export type { Holder } from './errors.ts';
