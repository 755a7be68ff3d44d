// Button and dialog that create an organization.
import { Button, Group, Modal, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { FormEvent } from 'react';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';

export function CreateOrganization() {
  const [isOpen, { open, close }] = useDisclosure();
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const add = useAction((wanted: string) => api('POST /api/v1/organizations', { body: { name: wanted } }), {
    stale: ['organizations'],
    done: (organization) => {
      setName('');
      close();
      return `Created ${organization.name}.`;
    },
    failed: setProblem,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setProblem(null);
    add.run(name.trim());
  };
  return (
    <>
      <Button size="xs" onClick={open}>
        Create organization
      </Button>
      <Modal opened={isOpen} onClose={close} title="Create organization" centered>
        <form onSubmit={submit}>
          <TextInput
            label="Name"
            value={name}
            onChange={({ currentTarget }) => {
              setName(currentTarget.value);
              setProblem(null);
            }}
            error={problem}
            maxLength={100}
            data-autofocus
            required
          />
          <Group justify="flex-end" mt="md">
            <Button type="submit" disabled={name.trim() === ''} loading={add.isRunning}>
              Create organization
            </Button>
          </Group>
        </form>
      </Modal>
    </>
  );
}
