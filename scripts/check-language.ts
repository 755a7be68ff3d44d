// Part of `npm run check`: rejects private terms and British spelling (scripts/language/words.ts).
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findWords, type Finding } from './language/find-words.ts';

const textFiles = /\.(?:ts|tsx|mts|cjs|js|md|sql|lua|yaml|yml|json|css|html|sh)$/;

/** Every finding in the files that git tracks, paths included. */
export function languageFindings(): readonly Finding[] {
  const paths = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => textFiles.test(path));
  return paths.flatMap((path) => {
    const text = readIfPresent(path);
    return text === null
      ? []
      : [...findWords(path, path).map((found) => ({ ...found, line: 0 })), ...findWords(path, text)];
  });
}

/** Null for a file that was deleted and not yet committed. */
function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

if (process.argv[1] === import.meta.filename) {
  const findings = languageFindings();
  for (const { path, line, word, instead } of findings)
    console.log(`${path}:${line}: "${word}": write ${instead}`);
  if (findings.length > 0) {
    console.log(
      `\n${findings.length} words to replace; exceptions with a reason go into scripts/language/words.ts`,
    );
    process.exitCode = 1;
  }
}
