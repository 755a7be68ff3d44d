// What processes on one store tell each other of.
import type { ChangeFeed } from '../../resilience/index.ts';

/** What a process holds in memory and others may change. */
export const gatewayTopics = ['models', 'cooldowns', 'keys'] as const;
export type GatewayTopic = (typeof gatewayTopics)[number];

export type GatewayChangeFeed = ChangeFeed<GatewayTopic>;
