// Extracts the source that a YAML file describes into a vault, and reads it: node extract.ts helpdesk.yaml
// examples/rest-source has the file and a server to try it with.
import { extract, openVault } from 'headworks/extraction';

const report = await extract({
  source: process.argv[2] ?? 'helpdesk.yaml',
  vault: 'helpdesk.vault',
  ratePerMinute: 600,
  env: process.env,
});
console.log(`${report.state}: ${report.items} items in ${report.calls} calls`);

const vault = openVault(report.vault);
for (const type of vault.types()) for (const { id, name } of vault.items(type)) console.log(type, id, name);
vault.close();
