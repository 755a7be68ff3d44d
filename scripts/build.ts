// npm run build: compiles src/ into dist/, with the files that code reads at run time and the dashboard.
import { cp, glob, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runPart } from './run-part.ts';

await rm('dist', { recursive: true, force: true });
const compiled = await runPart('compile', ['tsc', '-p', 'tsconfig.build.json']);
const dashboard = await runPart('dashboard', [
  'vite',
  'build',
  'web',
  '--outDir',
  '../dist/web',
  '--logLevel',
  'warn',
]);
if (compiled.isGood && dashboard.isGood) {
  // SQL, Lua and other files that the code beside them reads.
  for await (const entry of glob('**/*', { cwd: 'src', withFileTypes: true }))
    if (entry.isFile() && !/\.(ts|md)$/.test(entry.name) && !entry.parentPath.includes('__fixtures__')) {
      const from = join(entry.parentPath, entry.name);
      await cp(from, join('dist', from.slice(from.indexOf('src/') + 4)));
    }
} else {
  console.error(`${compiled.output}${dashboard.output}`.trim());
  await rm('dist', { recursive: true, force: true }); // an incomplete build must not be used
  process.exitCode = 1;
}
