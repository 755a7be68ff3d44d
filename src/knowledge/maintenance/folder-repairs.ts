// Files of folders that could not be taken in: tried again, one by one.
import { HeadworksError, kindOf, messageOf } from '../../core/index.ts';
import type { RegisteredRepair } from '../../ledger/index.ts';
import { ingestDegradations, isFatalForJob } from '../ingest/failure-kinds.ts';
import type { Folders } from '../folders/folders.ts';
import { gone, repaired, stillBroken } from './outcomes.ts';

export function folderRepairs(folders: Pick<Folders, 'retry'>): readonly RegisteredRepair[] {
  return [
    {
      kind: ingestDegradations.fileNotIngested,
      describe: 'Tries the file of a watched or scheduled folder again.',
      repair: async ({ details }, signal) => {
        try {
          const outcome = await folders.retry(String(details['folder_id']), String(details['path']), signal);
          return outcome === 'gone' ? gone : repaired;
        } catch (error) {
          if (isFatalForJob(error, signal)) throw error;
          return stillBroken(
            error instanceof HeadworksError ? messageOf(error) : `It cannot be read: ${kindOf(error)}.`,
          );
        }
      },
    },
  ];
}
