// Ingests a document: pasted, chosen or dropped.
import type { ApiInput } from '../../../../../src/api/client.ts';
import { Button, FileButton, Group, Paper, Text, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { DragEvent } from 'react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useAction } from '../../../components/action.tsx';
import { inSpace } from '../queries.ts';
import { useAddress, useSpaceRef } from '../space-ref.ts';
import { counted } from '../../../components/format.ts';

const outcomeLabels = {
  added: 'Ingested',
  revised: 'Ingested as a new revision',
  unchanged: 'Unchanged',
};

export function IngestBox() {
  const [isOpen, { toggle }] = useDisclosure();
  const [isOver, setOver] = useState(false);
  const ingest = useIngest();
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer.files;
    if (file) ingest.run(file);
  };
  return (
    <Paper
      withBorder
      p="xs"
      style={isOver ? { borderStyle: 'dashed', borderColor: 'var(--mantine-color-blue-6)' } : {}}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Group gap="xs">
        <Button variant="default" size="xs" onClick={toggle} aria-expanded={isOpen}>
          Paste text
        </Button>
        <FileButton onChange={(file) => file && ingest.run(file)}>
          {(props) => (
            <Button {...props} variant="default" size="xs" loading={ingest.isRunning}>
              Choose file
            </Button>
          )}
        </FileButton>
        <Text size="xs" c="dimmed">
          or drop one here: text, Markdown, HTML, PDF, DOCX, mail, JSON, CSV, XML
        </Text>
      </Group>
      {isOpen ? <PasteForm isRunning={ingest.isRunning} onIngest={(pasted) => ingest.run(pasted)} /> : null}
    </Paper>
  );
}

interface Pasted {
  readonly text: string;
  readonly title: string;
}

function PasteForm({
  isRunning,
  onIngest,
}: {
  readonly isRunning: boolean;
  readonly onIngest: (pasted: Pasted) => void;
}) {
  const [text, setText] = useState('');
  const [title, setTitle] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onIngest({ text, title });
      }}
    >
      <TextInput
        label="Title"
        mt="xs"
        size="xs"
        value={title}
        onChange={({ currentTarget }) => setTitle(currentTarget.value)}
      />
      <Textarea
        label="Text"
        required
        mt="xs"
        autosize
        minRows={4}
        maxRows={14}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button type="submit" size="xs" mt="xs" loading={isRunning} disabled={text.trim() === ''}>
        Ingest text
      </Button>
    </form>
  );
}

/** Opens the document after ingestion. */
function useIngest() {
  const spaceRef = useSpaceRef();
  const address = useAddress();
  const [, go] = useLocation();
  return useAction(
    async (chosen: Pasted | File) => {
      const accepted = await inSpace(spaceRef, 'POST /api/v1/knowledge/artifacts', {
        body: await bodyOf(chosen),
      });
      go(address(`/artifacts/${accepted.id}`));
      return accepted;
    },
    {
      stale: ['knowledge'],
      done: ({ outcome, chunks }) => `${outcomeLabels[outcome]}: ${counted(chunks, 'chunk')}.`,
    },
  );
}

async function bodyOf(chosen: Pasted | File): Promise<ApiInput<'POST /api/v1/knowledge/artifacts'>['body']> {
  if (chosen instanceof File)
    return {
      file: { name: chosen.name, media_type: chosen.type, content: await base64Of(chosen) },
      source_id: chosen.name,
    };
  const { text, title } = chosen;
  return { text, ...(title.trim() === '' ? {} : { title: title.trim() }) };
}

/** Encoded by the browser: doing it in JavaScript would block the page for 20 MB. */
const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      const address = typeof reader.result === 'string' ? reader.result : '';
      resolve(address.slice(address.indexOf(',') + 1));
    });
    reader.addEventListener('error', () =>
      reject(new Error(`Could not read ${file.name}. Choose it again.`)),
    );
    reader.readAsDataURL(file);
  });
