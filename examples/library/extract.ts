// Extracts the help desk of ../rest-source into a vault and reads it. Start its server first: see ../rest-source.
import { fileURLToPath } from 'node:url';
import { extract, openVault } from 'headworks/extraction';

const report = await extract({
  source: fileURLToPath(new URL('../rest-source/helpdesk.yaml', import.meta.url)),
  vault: 'helpdesk.vault',
  ratePerMinute: 600,
  env: process.env,
});
console.log(`${report.status}: ${report.items} items in ${report.calls} calls`);

const vault = openVault(report.vault);
for (const { id, name } of vault.items('projects')) console.log(id, name);
vault.close();
