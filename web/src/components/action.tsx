// Actions on the server: pending state, confirmation dialog, notification of the result.
import { Button, Group, Modal, Text, type ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';

export interface Act<T> {
  run(input: T): void;
  readonly isRunning: boolean;
}

export interface ActionOptions<T, R> {
  /** First elements of the query keys to invalidate afterwards, whether it succeeded or failed. */
  readonly stale: readonly string[];
  /** Text of the success notification. */
  readonly done?: (result: R, input: T) => string;
  /** Shows the error. Default: a notification. */
  readonly failed?: (problem: string) => void;
}

/** Runs `work` and notifies the user of its result. */
export function useAction<T, R>(
  work: (input: T) => Promise<R>,
  { stale, done, failed = (problem) => notifyFailure('Action failed', problem) }: ActionOptions<T, R>,
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
  /** Label of the button and of the dialog's confirm button. */
  readonly label: string;
  readonly question: ReactNode;
  readonly onConfirm: () => void;
}

/** A button with a confirmation dialog. */
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
            Cancel
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
