// Organizations and their keys, for the admin.
import { z } from 'zod';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  newOrganizationKey,
  organization,
  organizationBody,
  organizationKey,
  organizationKeyBody,
  organizationKeyParams,
  organizationKeys,
  organizationParams,
  organizations,
  viewOfOrganization,
  viewOfOrganizationKey,
} from '../schemas/organizations.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['organizations'];
const config = { access: 'admin' } as const;

export function organizationRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  ownRoutes(server, dependencies);
  keyRoutes(server, dependencies);
}

function ownRoutes(server: TypedServer, { tenants }: HttpDependencies): void {
  const desk = tenants.organizations;

  server.get(
    '/api/v1/organizations',
    {
      config,
      schema: {
        operationId: 'organizations.list',
        tags,
        summary: 'Organizations',
        response: { 200: organizations, ...errorAnswers },
      },
    },
    async () => ({ organizations: desk.list().map(viewOfOrganization) }),
  );

  server.post(
    '/api/v1/organizations',
    {
      config,
      schema: {
        operationId: 'organizations.add',
        tags,
        summary: 'Adds an organization',
        body: organizationBody,
        response: { 201: organization, ...errorAnswers },
      },
    },
    async ({ body }, reply) => reply.code(201).send(viewOfOrganization(await desk.create(body.name))),
  );

  server.get(
    '/api/v1/organizations/:organization',
    {
      config,
      schema: {
        operationId: 'organizations.get',
        tags,
        summary: 'One organization',
        params: organizationParams,
        response: { 200: organization, ...errorAnswers },
      },
    },
    async ({ params }) => viewOfOrganization(desk.find(params.organization)),
  );

  server.patch(
    '/api/v1/organizations/:organization',
    {
      config,
      schema: {
        operationId: 'organizations.rename',
        tags,
        summary: 'Renames an organization',
        description:
          'Its id stays, and so do addresses with the id in them. Those with the old name are no more.',
        params: organizationParams,
        body: organizationBody,
        response: { 200: organization, ...errorAnswers },
      },
    },
    async ({ params, body }) => viewOfOrganization(await desk.rename(params.organization, body.name)),
  );

  server.delete(
    '/api/v1/organizations/:organization',
    {
      config,
      schema: {
        operationId: 'organizations.remove',
        tags,
        summary: 'Removes an organization',
        description:
          'Its keys, deployments, limit and ended executions go with it. Refused while one of its executions is under way.',
        params: organizationParams,
        response: { 204: z.null().describe('It is gone.'), ...errorAnswers },
      },
    },
    async ({ params }, reply) => {
      await desk.delete(params.organization);
      return reply.code(204).send(null);
    },
  );
}

function keyRoutes(server: TypedServer, { tenants: { keys } }: HttpDependencies): void {
  server.get(
    '/api/v1/organizations/:organization/keys',
    {
      config,
      schema: {
        operationId: 'organizations.keys.list',
        tags,
        summary: 'Keys of an organization',
        params: organizationParams,
        response: { 200: organizationKeys, ...errorAnswers },
      },
    },
    async ({ params }) => ({ keys: keys.list(params.organization).map(viewOfOrganizationKey) }),
  );

  server.post(
    '/api/v1/organizations/:organization/keys',
    {
      config,
      schema: {
        operationId: 'organizations.keys.create',
        tags,
        summary: 'A new key of an organization; it is shown this once',
        params: organizationParams,
        body: organizationKeyBody,
        response: { 201: newOrganizationKey, ...errorAnswers },
      },
    },
    async ({ params, body }, reply) => {
      const expiresAt = body.expires_at === undefined ? null : new Date(body.expires_at);
      const { key, record } = await keys.create(params.organization, { name: body.name, expiresAt });
      return reply.code(201).send({ ...viewOfOrganizationKey(record), key });
    },
  );

  server.delete(
    '/api/v1/organizations/:organization/keys/:id',
    {
      config,
      schema: {
        operationId: 'organizations.keys.revoke',
        tags,
        summary: 'Revokes a key of an organization, for good',
        description: 'It is refused everywhere within a second. What it started goes on.',
        params: organizationKeyParams,
        response: { 200: organizationKey, ...errorAnswers },
      },
    },
    async ({ params }) => viewOfOrganizationKey(await keys.revoke(params.organization, params.id)),
  );
}
