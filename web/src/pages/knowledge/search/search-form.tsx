// Search form: query and filters.
import { Button, Group, Select, Switch, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import type { FormEvent } from 'react';
import { useEffect, useState } from 'react';
import type { ArtifactType, Category } from '../labels.ts';
import { artifactTypeLabels, categoryLabels } from '../labels.ts';
import type { SearchQuery } from './search-query.ts';

const optionsOf = (words: Readonly<Record<string, string>>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

export function SearchForm({
  searchQuery,
  onSearch,
}: {
  readonly searchQuery: SearchQuery;
  readonly onSearch: (searchQuery: SearchQuery) => void;
}) {
  const [query, setQuery] = useState(searchQuery.query);
  // Back and forward change the query.
  useEffect(() => setQuery(searchQuery.query), [searchQuery.query]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSearch({ ...searchQuery, query: query.trim() });
  };
  const refine = (change: Partial<SearchQuery>): void =>
    onSearch({ ...searchQuery, query: query.trim(), ...change });
  return (
    <form role="search" onSubmit={submit}>
      <Group gap="sm" align="center">
        <TextInput
          aria-label="Query"
          placeholder="When was the launch moved?"
          flex="1 1 200px"
          leftSection={<IconSearch size={16} aria-hidden />}
          value={query}
          onChange={({ currentTarget }) => setQuery(currentTarget.value)}
        />
        <Button type="submit">Search</Button>
      </Group>
      <Group gap="sm" mt="xs">
        <Select
          aria-label="Document type"
          placeholder="All documents"
          size="xs"
          w={150}
          clearable
          data={optionsOf(artifactTypeLabels)}
          value={searchQuery.type}
          onChange={(type) => refine({ type: type as ArtifactType | null })}
        />
        <Select
          aria-label="Event category"
          placeholder="All categories"
          size="xs"
          w={150}
          clearable
          data={optionsOf(categoryLabels)}
          value={searchQuery.category}
          onChange={(category) => refine({ category: category as Category | null })}
        />
        <Switch
          label="Include related events"
          size="xs"
          checked={searchQuery.isExpanded}
          onChange={({ currentTarget }) => refine({ isExpanded: currentTarget.checked })}
        />
      </Group>
    </form>
  );
}
