// Deployments in Postgres.
import { isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, json, sql } from '../../platform/postgres/sql.ts';
import type { Deployment, DeploymentChange, DeploymentStore } from '../ports.ts';
import { noOrganization, takenName } from '../refusals.ts';
import { refusing } from './refusing.ts';
import { removeIdle } from './remove-idle.ts';
import { tellTenants } from './tenant-channel.ts';

const columns = sql`
  id, organization_id as "organizationId", name, workflow, options, webhook_url as "webhookUrl",
  wait_seconds as "waitSeconds", is_active as "isActive", created_at as "createdAt", modified_at as "modifiedAt"`;

export class PostgresDeploymentStore implements DeploymentStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(deployment: Deployment): Promise<void> {
    const { id, organizationId, name, workflow, options, webhookUrl, waitSeconds, isActive } = deployment;
    const adding = this.#database.transaction(async (transaction) => {
      await transaction.query(sql`
        insert into deployments (
          id, organization_id, name, workflow, options, webhook_url, wait_seconds, is_active, created_at, modified_at
        ) values (
          ${id}, ${organizationId}, ${name}, ${workflow}, ${json(options)}, ${webhookUrl}, ${waitSeconds},
          ${isActive}, ${deployment.createdAt}, ${deployment.modifiedAt}
        )`);
      await tellTenants(transaction, this.#database.schema, 'deployments');
    });
    await refusing(adding, {
      '23503': noOrganization,
      '23505': () => this.#taken(name, sql`${organizationId}`),
    });
  }

  async list(): Promise<readonly Deployment[]> {
    const { rows } = await this.#database.query<Deployment>(
      sql`select ${columns} from deployments order by created_at, id`,
    );
    return rows;
  }

  async change(id: string, change: DeploymentChange, at: Date): Promise<Deployment | null> {
    if (!isUuid(id)) return null;
    const changing = this.#database.transaction(async (transaction) => {
      const { rows } = await transaction.query<Deployment>(sql`
        update deployments set ${joinSql([sql`modified_at = ${at}`, ...assignments(change)], sql`, `)}
        where id = ${id}::uuid returning ${columns}`);
      if (rows.length > 0) await tellTenants(transaction, this.#database.schema, 'deployments');
      return rows[0] ?? null;
    });
    const owner = sql`(select organization_id from deployments where id = ${id}::uuid)`;
    return refusing(changing, { '23505': () => this.#taken(change.name ?? '', owner) });
  }

  async remove(id: string): Promise<boolean> {
    return isUuid(id) && removeIdle(this.#database, 'deployment', id, ['deployments']);
  }

  /** The one that has the name may write it otherwise; it may also be gone by now. */
  async #taken(name: string, organizationId: Sql): Promise<Error> {
    const { rows } = await this.#database.query<{ name: string }>(sql`
      select name from deployments
      where organization_id = ${organizationId} and lower(name collate "C") = lower(${name} collate "C")`);
    return takenName('deployment', rows[0]?.name ?? name);
  }
}

/** Only what is given: somebody else may be changing the rest at the same time. */
function assignments({ name, options, webhookUrl, waitSeconds, isActive }: DeploymentChange): readonly Sql[] {
  return [
    ...(name === undefined ? [] : [sql`name = ${name}`]),
    ...(options === undefined ? [] : [sql`options = ${json(options)}`]),
    ...(webhookUrl === undefined ? [] : [sql`webhook_url = ${webhookUrl}`]),
    ...(waitSeconds === undefined ? [] : [sql`wait_seconds = ${waitSeconds}`]),
    ...(isActive === undefined ? [] : [sql`is_active = ${isActive}`]),
  ];
}
