// The graph of knowledge over HTTP.
import { z } from 'zod';
import { graphBackends } from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { limitOf } from './fields.ts';

export const graphStatusAnswer = z
  .object({
    backend: z.enum(graphBackends).describe('Where the graph lives: GRAPH_BACKEND.'),
    state: z.enum(['available', 'unavailable', 'off']),
    detail: z.string().nullable().describe('Why it is unavailable, and what would help.'),
  })
  .meta({ id: 'GraphStatus', description: 'Whether the graph can be used.' });

export const graphRebuildAnswer = z
  .object({
    job_id: z.string().nullable().describe('Null when a rebuild is already waiting or running.'),
  })
  .meta({ id: 'GraphRebuildRequested', description: 'A job rebuilds; look at it under /api/v1/jobs.' });

export const aroundQuery = z.strictObject({ limit: limitOf(200, 50), ...spaceFields });

export const aroundAnswer = z
  .object({
    nodes: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(['entity', 'event']),
        label: z.string().describe('The name, or what happened.'),
        type: z.string().describe('The entity’s type, or the event’s category.'),
      }),
    ),
    edges: z.array(
      z.object({
        from: z.string(),
        to: z.string(),
        kind: z.enum(['ACTED_IN', 'ABOUT', 'POSSIBLY_SAME']),
        role: z.string().nullable().describe('Of ACTED_IN: owner, contributor, reviewer, …'),
      }),
    ),
  })
  .meta({ id: 'GraphAround', description: 'An entity first, events it takes part in, and who else does.' });
