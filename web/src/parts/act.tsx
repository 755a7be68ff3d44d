// Doing something on the server: a button that waits, a question before what cannot be undone, a word about what came of it.
import { Button, Group, Modal, Text, type ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';

export interface Act<T> {
  run(input: T): void;
  readonly isRunning: boolean;
}

export interface ActOptions<T, R> {
  /** First words of the keys of queries that are read again, whatever came of it. */
  readonly stale: readonly string[];
  /** The word about it. */
  readonly done?: (result: R, input: T) => string;
  /** Shows why it did not work; default: a notification. */
  readonly failed?: (problem: string) => void;
}

/** Runs `work`, and tells a person what came of it. */
export function useAct<T, R>(
  work: (input: T) => Promise<R>,
  { stale, done, failed = (problem) => notifyFailure('That did not work', problem) }: ActOptions<T, R>,
): Act<T> {
  const client = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: work,
    onSuccess: (result, input) => {
      if (done) notifications.show({ message: done(result, input), color: 'teal' });
    },
    onError: (error) => failed(error.message),
    onSettled: () => Promise.all(stale.map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
  return { run: (input) => mutate(input), isRunning: isPending };
}

export function notifyFailure(title: string, message: string): void {
  notifications.show({ title, message, color: 'red', autoClose: 10_000 });
}

export interface ConfirmProps extends ButtonProps {
  /** What the button says, and what the question's button says. */
  readonly label: string;
  readonly question: ReactNode;
  readonly onConfirm: () => void;
}

/** A button that asks first. */
export function ConfirmButton({ label, question, onConfirm, ...button }: ConfirmProps) {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <Button {...button} onClick={open}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={label} centered>
        <Text size="sm" component="div" mb="md">
          {question}
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Leave it
          </Button>
          <Button
            color="red"
            onClick={() => {
              close();
              onConfirm();
            }}
          >
            {label}
          </Button>
        </Group>
      </Modal>
    </>
  );
}
