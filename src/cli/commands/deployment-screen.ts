// One deployment on the screen.
import type { DeploymentWithSecret } from '../../api/deployments.ts';
import { humanMoment } from '../human-time.ts';
import type { CliSession } from '../session.ts';

export function showDeployment({ out, io }: CliSession, deployment: DeploymentWithSecret): void {
  if (out.isJson) return out.json(deployment);
  const now = io.clock.now();
  const none = '–';
  out.facts([
    ['id', deployment.id],
    ['deployment', `${deployment.organization_name}/${deployment.name}`],
    ['state', deployment.is_active ? 'on' : 'off'],
    ['path', deployment.path],
    ['workflow', deployment.workflow],
    ['options', JSON.stringify(deployment.options)],
    ['wait', `${deployment.wait_seconds} s`],
    ['webhook', deployment.webhook_url ?? none],
    ['webhook secret', deployment.webhook_secret ?? none],
    ['created', humanMoment(deployment.created_at, now)],
    ['modified', humanMoment(deployment.modified_at, now)],
  ]);
  noteWarnings(out, deployment);
}

/** What keeps a deployment from working, beside what is shown of it. */
export function noteWarnings(out: CliSession['out'], { warnings }: DeploymentWithSecret): void {
  for (const warning of warnings) out.note(`⚠ ${warning}`);
}
