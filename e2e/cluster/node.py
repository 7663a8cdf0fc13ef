"""The real node: kubelet and kube-proxy, confined to folders, ports and a control group of ours."""

from pathlib import Path
from typing import Any

import yaml

from e2e.cluster.catalogue import binary
from e2e.cluster.machine import Machine

Config = dict[str, Any]


def kubelet_config(machine: Machine) -> Config:
    """The kubelet's configuration."""
    pair = machine.layout.pki.pair("kubelet")
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": machine.gateway,
        "port": machine.kubelet_port,
        "healthzPort": machine.kubelet_health_port,
        "authentication": {
            "x509": {"clientCAFile": str(machine.layout.pki.authority)},
            "webhook": {"enabled": True},
            "anonymous": {"enabled": False},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pair.certificate),
        "tlsPrivateKeyFile": str(pair.key),
        "containerRuntimeEndpoint": f"unix://{machine.socket}",
        "podLogsDir": str(machine.state / "pod-logs"),
        "clusterDNS": [machine.dns_address],
        "clusterDomain": "cluster.local",
        # Pods resolve names of the cluster alone; the host's resolver is no business of theirs.
        "resolvConf": "/dev/null",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{machine.cgroup}",
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        # Lowering the score needs CAP_SYS_RESOURCE, which root in a virtual machine may lack.
        "oomScoreAdj": 0,
        # The host's iptables stay as they are; nothing here needs the kubelet's chains.
        "makeIPTablesUtilChains": False,
        "evictionHard": {"memory.available": "100Mi"},
        # Images are loaded, not pulled: one that is collected would be gone for good.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
    }


def kubelet(machine: Machine) -> list[str]:
    """The kubelet's command line."""
    return [
        str(binary("kubelet")),
        f"--config={machine.state / 'kubelet.yaml'}",
        f"--kubeconfig={machine.state / 'kubelet.kubeconfig'}",
        f"--root-dir={machine.state / 'kubelet'}",
        f"--hostname-override={machine.node}",
        f"--node-ip={machine.gateway}",
    ]


def proxy_config(machine: Machine) -> Config:
    """kube-proxy's configuration.

    `masqueradeAll`: two Pods on one bridge answer each other past the host, unless br_netfilter is loaded; a
    Service's answer must come back through it.
    """
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(machine.layout.kubeconfig)},
        "hostnameOverride": machine.node,
        "clusterCIDR": machine.pod_range,
        "healthzBindAddress": f"127.0.0.1:{machine.proxy_health_port}",
        "metricsBindAddress": f"127.0.0.1:{machine.proxy_metrics_port}",
        "nftables": {"masqueradeAll": True},
        # 0 leaves the host's limits of tracked connections as they are.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpCloseWaitTimeout": "0s",
            "tcpEstablishedTimeout": "0s",
        },
    }


def proxy(machine: Machine) -> list[str]:
    """kube-proxy's command line."""
    return [str(binary("kube-proxy")), f"--config={machine.state / 'kube-proxy.yaml'}"]


def write_config(path: Path, config: Config) -> None:
    """Write a component's configuration as YAML."""
    path.write_text(yaml.safe_dump(config, sort_keys=False))
