// Every command that the docs show, executed with the installed package. CONTRIBUTING.md, "Docs", has the rules for pages.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readDocBlocks } from '../../scripts/doc-commands.ts';
import { copyEmbeddedStore } from '../support/embedded-template.ts';
import { pageRules } from '../support/docs/page-rules.ts';
import { runPage } from '../support/docs/run-page.ts';
import { installedPackage, repository } from '../support/installed-package.ts';

const pages = globSync(['*.md', '{docs/guide,docs/internals,examples,src}/**/*.md'], { cwd: repository })
  .filter((page) => page !== 'CHANGELOG.md')
  .map((page) => ({ page, blocks: readDocBlocks(readFileSync(join(repository, page), 'utf8')) }))
  .filter(({ blocks }) => blocks.length > 0)
  .toSorted((one, other) => one.page.localeCompare(other.page));
const executed = pages
  .filter(({ blocks }) => blocks.some(({ notExecuted }) => notExecuted === null))
  .map(({ page }) => page);

// They mostly wait, so several run at a time.
it.concurrent.for(executed)('executes the commands of %s', { timeout: 900_000 }, async (page) => {
  const { project } = await installedPackage();
  const withStore = (folder: string) => copyEmbeddedStore(join(folder, '.headworks', 'state'));
  await runPage(page, pageRules[page] ?? {}, project, withStore);
});

it('has rules only for pages that are executed', () => {
  expect(Object.keys(pageRules).filter((page) => !executed.includes(page))).toEqual([]);
});
