import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type CounterConfiguration,
  type GaugeConfiguration,
  type HistogramConfiguration,
} from 'prom-client';
import type { KafkaObserver } from '@espalier/kafka';

/**
 * The metrics of one service: the defaults of Node (event-loop lag among them), what every service counts on Kafka, and
 * what it adds itself. Names are `espalier_<what>_<unit>`; the service is a label of all.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #known = new Map<string, unknown>();

  constructor(service: string) {
    this.registry.setDefaultLabels({ service });
    collectDefaultMetrics({ register: this.registry });
  }

  /** A counter; the same name gives the same one. */
  counter<L extends string>(configuration: Omit<CounterConfiguration<L>, 'registers'>): Counter<L> {
    return this.#once(configuration.name, () => new Counter<L>({ ...configuration, registers: [this.registry] }));
  }

  /** A gauge; the same name gives the same one. */
  gauge<L extends string>(configuration: Omit<GaugeConfiguration<L>, 'registers'>): Gauge<L> {
    return this.#once(configuration.name, () => new Gauge<L>({ ...configuration, registers: [this.registry] }));
  }

  /** A histogram; the same name gives the same one. Times are in seconds. */
  histogram<L extends string>(configuration: Omit<HistogramConfiguration<L>, 'registers'>): Histogram<L> {
    return this.#once(configuration.name, () => new Histogram<L>({ ...configuration, registers: [this.registry] }));
  }

  /** Lag of consumer groups in data records, `kafka_consumergroup_lag{group,topic,partition}`. */
  consumerLag(): Gauge<'group' | 'topic' | 'partition'> {
    return this.gauge({
      name: 'kafka_consumergroup_lag',
      help: 'Data records between the committed offset of a group and the end of a partition.',
      labelNames: ['group', 'topic', 'partition'],
    });
  }

  /** Counts what passes through Kafka. */
  kafkaObserver(): KafkaObserver {
    const produced = this.counter({
      name: 'espalier_kafka_produced_total',
      help: 'Records acknowledged by the brokers.',
      labelNames: ['topic'],
    });
    const consumed = this.counter({
      name: 'espalier_kafka_consumed_total',
      help: 'Records read by a group.',
      labelNames: ['topic', 'group'],
    });
    const retried = this.counter({
      name: 'espalier_kafka_retried_total',
      help: 'Records moved to a retry topic.',
      labelNames: ['topic', 'group', 'code'],
    });
    const dead = this.counter({
      name: 'espalier_kafka_dead_letters_total',
      help: 'Records moved to a dead-letter topic.',
      labelNames: ['topic', 'group', 'code'],
    });
    return {
      produced: (topic, records) => produced.inc({ topic }, records),
      consumed: (topic, group, records) => consumed.inc({ topic, group }, records),
      retried: (topic, group, code) => retried.inc({ topic, group, code }),
      deadLettered: (topic, group, code) => dead.inc({ topic, group, code }),
    };
  }

  #once<M>(name: string, make: () => M): M {
    const known = this.#known.get(name) as M | undefined;
    if (known !== undefined) return known;
    const made = make();
    this.#known.set(name, made);
    return made;
  }
}
