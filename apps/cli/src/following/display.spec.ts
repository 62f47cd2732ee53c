import { describe, expect, it } from 'vitest';
import { RunView, type ViewEvent } from '../run-view/run-view.ts';
import { displayOf } from './display.ts';

const RUN = 'r1';
const event = (topic: ViewEvent['topic'], occurred_at: number, value: object): ViewEvent =>
  ({ topic, value: { event_id: `e${occurred_at}`, occurred_at, run_id: RUN, producer: 'p', ...value } }) as ViewEvent;
const place = { partition: 1, offset: 7 };

const stage = (kind: 'live' | 'plain' | 'json', columns = 80) => {
  const view = new RunView(RUN);
  let text = '';
  const display = displayOf(kind, view, { write: (more: string) => (text += more), columns, isTTY: true });
  const tell = (item: ViewEvent, fresh = true): void => {
    view.apply(item);
    display.event(item, place, fresh);
  };
  const take = (): string => {
    const taken = text;
    text = '';
    return taken;
  };
  return { display, tell, take };
};

describe('the live display', () => {
  it('draws over its last picture, in lines that fit the terminal', () => {
    const { display, tell, take } = stage('live', 40);
    tell(event('group.opened', 1, { group_id: 'g' }));
    display.tick(1_000, []);
    const first = take();
    expect(first.startsWith('\r')).toBe(true);
    const lines = first.split('\n').length - 1;
    display.tick(2_000, [{ group: 'rollout-runner', lag: 123_456 }]);
    const second = take();
    expect(second.startsWith(`\u001b[${lines}A\r`)).toBe(true);
    for (const line of second.replaceAll(/\u001b\[\d*[A-Z]/g, '').split('\n')) expect(line.length).toBeLessThan(41);
  });
});

describe('the plain display', () => {
  it('says a line every few seconds, when there is something new', () => {
    const { display, tell, take } = stage('plain');
    tell(event('group.opened', 1, { group_id: 'g' }));
    display.tick(10_000, []);
    expect(take()).toContain('1 forming');
    display.tick(12_000, []);
    expect(take()).toBe('');
    display.tick(15_000, []);
    expect(take()).toContain('15 s');
  });

  it('says a line at each batch, offered or trained, once', () => {
    const { tell, take } = stage('plain');
    tell(event('batch.offered', 1, { seq: 1 }), false);
    expect(take()).toBe('');
    tell(event('batch.offered', 2, { seq: 2 }));
    expect(take()).toContain('2 offered 0 trained');
    tell(event('batch.offered', 3, { seq: 2 }));
    expect(take()).toBe('');
    tell(
      event('run.reported', 4, { kind: 'TRAINED', state: 'ACTIVE', trained_seq: 2, message: '', waiting_for: null }),
    );
    expect(take()).toContain('2 offered 2 trained');
  });
});

describe('the JSON display', () => {
  it('prints each event with its place, old ones too', () => {
    const { display, tell, take } = stage('json');
    tell(event('batch.offered', 1, { seq: 1 }), false);
    display.tick(1, []);
    expect(JSON.parse(take())).toMatchObject({ topic: 'batch.offered', ...place, event: { seq: 1, run_id: RUN } });
  });
});
