// A database of its own on the test server, for code that chooses its schema itself.
import { Client } from 'pg';
import { databaseUrl, uniqueName } from './services.ts';

/** Creates a database; returns its URL and how to drop it. */
export async function ownDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = uniqueName('own');
  await query(`create database ${name}`);
  const url = new URL(databaseUrl());
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => query(`drop database ${name} with (force)`) };
}

async function query(sql: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl() });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
