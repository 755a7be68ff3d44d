// The question, and what it is asked of.
import { Button, Group, Select, Switch, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import type { FormEvent } from 'react';
import { useEffect, useState } from 'react';
import type { ArtifactType, Category } from '../words.ts';
import { artifactTypeWords, categoryWords } from '../words.ts';
import type { Wish } from './search-wish.ts';

const optionsOf = (words: Readonly<Record<string, string>>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

export function SearchForm({
  wish,
  onSearch,
}: {
  readonly wish: Wish;
  readonly onSearch: (wish: Wish) => void;
}) {
  const [query, setQuery] = useState(wish.query);
  // The way back leads to another question.
  useEffect(() => setQuery(wish.query), [wish.query]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSearch({ ...wish, query: query.trim() });
  };
  const refine = (change: Partial<Wish>): void => onSearch({ ...wish, query: query.trim(), ...change });
  return (
    <form role="search" onSubmit={submit}>
      <Group gap="sm" align="center">
        <TextInput
          aria-label="Question"
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
          aria-label="Kind of document"
          placeholder="all documents"
          size="xs"
          w={150}
          clearable
          data={optionsOf(artifactTypeWords)}
          value={wish.type}
          onChange={(type) => refine({ type: type as ArtifactType | null })}
        />
        <Select
          aria-label="Kind of event"
          placeholder="with any event"
          size="xs"
          w={150}
          clearable
          data={optionsOf(categoryWords)}
          value={wish.category}
          onChange={(category) => refine({ category: category as Category | null })}
        />
        <Switch
          label="Follow the graph"
          size="xs"
          checked={wish.isExpanded}
          onChange={({ currentTarget }) => refine({ isExpanded: currentTarget.checked })}
        />
      </Group>
    </form>
  );
}
