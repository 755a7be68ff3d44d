// Files and folders that the docs name: each exists and has the identifier that is named directly after it.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** `src/core/errors.ts`, `pipeline/planner.ts` or `src/core/`, and the identifiers behind it: `name`, `Class.name`. */
const citation =
  /`((?:[\w.*-]+\/)+(?:[\w.*-]+\.(?:ts|tsx|lua|sql|cjs|json|ya?ml|md))?)`((?:(?: |: )`#?[A-Za-z_][\w.]*`(?:(?:, | and )`#?[A-Za-z_][\w.]*`(?! in `))*)?)/g;
/** Folders of the repository; another folder in the docs is one of the user. */
const folders = /^(?:src|test|web|bench|scripts|monitoring|examples|docs)\//;
const source = /\.(?:ts|tsx|lua|sql|cjs)$/;
const isFileName = /\.(?:ts|tsx|lua|sql|cjs|json|ya?ml|md|py|js)$/;

/** One line per file, folder or identifier that the page `path` names and that does not exist. */
export function citedFileProblems(path: string, text: string): readonly string[] {
  return [...text.matchAll(citation)].flatMap(([, cited = '', behind = '']) => {
    // Tests have a check of their own.
    if (/\.(?:test|contract)\.ts$/.test(cited)) return [];
    if (!folders.test(cited) && !source.test(cited)) return [];
    const found = filesOf(cited, path);
    if (found.length === 0) return [`there is no ${cited}`];
    const names = [...behind.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    return names
      .filter((name) => !isFileName.test(name) && !found.some((file) => hasName(file, name)))
      .map((name) => `${cited} has no ${name}`);
  });
}

/** The file itself or all files of a folder; a page may leave out the first folders of a path. */
function filesOf(cited: string, page: string): readonly string[] {
  const pattern = cited.endsWith('/') ? `${cited}**` : cited;
  if (pattern.includes('*'))
    return [pattern, join(dirname(page), pattern)].flatMap((each) => globSync(each)).filter(isRepositoryFile);
  const beside = join(dirname(page), cited);
  return repositoryFiles().filter((file) => file === cited || file === beside || file.endsWith(`/${cited}`));
}

const isRepositoryFile = (path: string): boolean => repositoryFiles().includes(path);

let known: readonly string[] | undefined;
const repositoryFiles = (): readonly string[] =>
  (known ??= globSync('**/*.*', {
    exclude: (name) => /(?:^|\/)(?:node_modules|dist|coverage|\.git)$/.test(name),
  }));

const contents = new Map<string, string>();

function hasName(file: string, name: string): boolean {
  const text = contents.get(file) ?? readFileSync(file, 'utf8');
  contents.set(file, text);
  return name.split('.').every((part) => new RegExp(String.raw`(?<!\w)${part}(?!\w)`).test(text));
}
