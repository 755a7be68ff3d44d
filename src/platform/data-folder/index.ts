// The data folder: where everything embedded lives, held by one process at a time.
export { openDataFolder, type DataFolder, type DataFolderOptions } from './open-data-folder.ts';
export { readHolder, type Holder } from './holder.ts';
