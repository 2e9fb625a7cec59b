package otlp

import (
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// metricsOf converts set to OpenTelemetry's format. now is the time of the values, and began the
// time at which the counters were 0.
func metricsOf(set *metrics.Set, began, now time.Time) []*metricspb.Metric {
	var all []*metricspb.Metric
	var latest *metrics.Family
	var add func(*metricspb.NumberDataPoint)
	for _, value := range set.Values() {
		if value.Family != latest {
			latest = value.Family
			metric := &metricspb.Metric{Name: latest.Name, Description: latest.Help, Unit: unitOf(latest.Name)}
			all = append(all, metric)
			if latest.Type == metrics.Counter {
				sum := &metricspb.Sum{IsMonotonic: true, AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
				metric.Data = &metricspb.Metric_Sum{Sum: sum}
				add = func(p *metricspb.NumberDataPoint) {
					p.StartTimeUnixNano = uint64(began.UnixNano())
					sum.DataPoints = append(sum.DataPoints, p)
				}
			} else {
				gauge := &metricspb.Gauge{}
				metric.Data = &metricspb.Metric_Gauge{Gauge: gauge}
				add = func(p *metricspb.NumberDataPoint) { gauge.DataPoints = append(gauge.DataPoints, p) }
			}
		}
		point := &metricspb.NumberDataPoint{TimeUnixNano: uint64(now.UnixNano()), Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: value.Number}}
		for i, label := range value.Values {
			point.Attributes = append(point.Attributes, text(latest.Labels[i], label))
		}
		add(point)
	}
	return all
}

// unitOf returns OpenTelemetry's symbol for the unit with which the name of a metric ends, or
// "" if the name contains no unit.
func unitOf(name string) string {
	name = strings.TrimSuffix(name, "_total")
	switch {
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "By"
	}
	return ""
}

// resourceOf returns OpenTelemetry's resource for the application, with which metrics and spans
// are sent.
func resourceOf(a events.Application) *resourcepb.Resource {
	resource := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{text("service.name", a.Name), text("service.instance.id", a.ID)}}
	for _, attribute := range []struct{ key, value string }{
		{"host.name", a.Host}, {"bobbin.user", a.User}, {"bobbin.master", a.Master}, {"bobbin.version", a.Version},
	} {
		if attribute.value != "" {
			resource.Attributes = append(resource.Attributes, text(attribute.key, attribute.value))
		}
	}
	resource.Attributes = append(resource.Attributes, number("bobbin.application.attempt", int64(a.Attempt)))
	return resource
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: valid(value)}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}

// valid returns s with U+FFFD in place of invalid UTF-8, which protobuf cannot encode.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
