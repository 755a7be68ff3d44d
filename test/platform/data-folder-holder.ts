// A process that holds a data folder until it is killed, or prints why it cannot.
import { openDataFolder } from '../../src/platform/data-folder/data-folder.ts';

try {
  await openDataFolder(process.argv[2] ?? '', { version: '1.0.0', command: 'headworks serve' });
  process.stdout.write('held\n');
  process.stdin.resume();
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
}
