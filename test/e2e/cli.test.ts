// The command line as a real process, as far as it needs no server: configuration, usage, help, streams.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runHeadworks, startHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

describe('headworks', () => {
  it('explains every command with an example', async () => {
    const cwd = await temporaryFolder();
    for (const command of ['serve', 'worker', 'demo', 'doctor', 'config', 'ledger', 'repair', 'jobs']) {
      const { code, stdout: out, stderr: err } = await runHeadworks([command, '--help'], cwd);
      expect({ command, code, err }).toEqual({ command, code: 0, err: '' });
      expect(out).toMatch(/^Examples?:\n {2}\$ /m);
    }
  });

  it('lists all problems of flags, environment and file together and exits with 2', async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'headworks.yaml'), 'server:\n  prot: 1\n  host: "a b"\n');
    const env = { HEADWORKS_PORT: 'http', DATABASE_URL: 'postgres:/u:hunter22@h' };
    const { code, stdout: out, stderr: err } = await runHeadworks(['serve', '--log-level', 'loud'], cwd, env);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^headworks: The configuration has 5 problems:\n( {2}- .+\n){5}$/);
    for (const part of [
      'headworks.yaml line 2',
      'did you mean "server.port"?',
      'server.host',
      'server.port',
      'HEADWORKS_PORT',
      '"http"',
      'a whole number from 0 to 65535',
      'DATABASE_URL',
      '"loud" from flag --log-level',
    ])
      expect(err).toContain(part);
    expect(err).not.toContain('hunter22');
  });

  it('prints configuration errors as JSON with --json', async () => {
    const cwd = await temporaryFolder();
    const { code, stderr: err } = await runHeadworks(['jobs', '--json', '--config', 'nowhere.yaml'], cwd);
    expect(code).toBe(2);
    expect(JSON.parse(err)).toEqual({
      error: {
        code: 'CONFIG_INVALID',
        message:
          'The configuration is not valid: There is no file nowhere.yaml (given with --config); check the path.',
      },
    });
  });

  it('rejects unknown commands and options with a suggestion and exits with 2', async () => {
    const cwd = await temporaryFolder();
    const option = await runHeadworks(['serve', '--prot', '1'], cwd);
    expect(option).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('--port') as string });
    const command = await runHeadworks(['ledgr'], cwd);
    expect(command).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('ledger') as string });
  });

  it('prints the configuration as one JSON document, secrets masked', async () => {
    const cwd = await temporaryFolder();
    const env = {
      DATABASE_URL: 'postgres://u:hunter22@h.example/d',
      HEADWORKS_ADMIN_TOKEN: 'sixteen-letters-or-more',
    };
    const { code, stdout: out, stderr: err } = await runHeadworks(['config', '--json'], cwd, env);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const { options } = JSON.parse(out) as { options: { name: string; value: unknown; source: string }[] };
    expect(options.find(({ name }) => name === 'state.databaseUrl')).toMatchObject({
      value: 'postgres://[hidden]@h.example/d',
      source: 'env',
      source_name: 'DATABASE_URL',
    });
    expect(out).not.toMatch(/hunter22|sixteen-letters/);
  });

  it('exits quietly when its output pipe is closed', async () => {
    const cwd = await temporaryFolder();
    const running = startHeadworks(['config', '--docs'], cwd);
    running.child.stdout.destroy();
    expect(await running.ended).toBe(0);
    expect(running.stderr()).toBe('');
  });

  it('writes no color codes into a pipe', async () => {
    const { stdout } = await runHeadworks(['config'], await temporaryFolder());
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toMatch(/^data\.folder +\S+\.headworks +default$/m);
  });
});
