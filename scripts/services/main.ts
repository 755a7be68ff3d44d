// npm run services -- run COMMAND … | up | down: private PostgreSQL and Redis for tests and development.
import { messageOf } from '../../src/core/errors.ts';
import { takeDownAbandoned } from './instance.ts';
import { log } from './run-command.ts';
import { runWithServices } from './run-with-services.ts';
import { openServices } from './services.ts';

const usage = `npm run services -- run COMMAND …   run a command with DATABASE_URL and REDIS_URL, then take all down
npm run --silent services -- up     start the servers and print the variables, for "export $(…)"
npm run services -- down            take down what "up" started, and what a crash left behind`;

async function main([verb, ...rest]: readonly string[]): Promise<number> {
  if (verb === 'run' && rest.length > 0) return await runWithServices(rest);
  if (verb === 'up') {
    const services = await openServices(process.env, 'free');
    log(services.summary);
    for (const [name, value] of Object.entries(services.variables)) console.log(`${name}=${value}`);
    return 0;
  }
  if (verb === 'down') {
    const folders = await takeDownAbandoned();
    log(folders.length === 0 ? 'nothing was running' : `took down ${folders.join(', ')}`);
    return 0;
  }
  console.error(usage);
  return 2;
}

try {
  // exit instead of exitCode: a build that still runs after Ctrl-C has open handles; the watchdog ends them.
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  log(messageOf(error));
  process.exit(1);
}
